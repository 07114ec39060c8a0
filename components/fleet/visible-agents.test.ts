import type { FleetAgent } from "@plimsoll/protocol";
import { expect, test } from "vitest";
import { COLLAPSE_ABOVE, COLLAPSED_ROWS, visibleAgents } from "./visible-agents.ts";

/** Agents with these loads and a line at 100 tokens. */
const agents = (...loads: number[]) =>
  loads.map(
    (load, index) =>
      ({
        id: `agent-${index}`,
        context_tokens: load * 100,
        line: { threshold: "ceiling", tokens: 100 },
        thresholds: [],
      }) as unknown as FleetAgent,
  );
const many = (count: number, load = 0.5) => agents(...Array.from({ length: count }, () => load));

test("a small fleet is shown in full", () => {
  const { shown, hidden } = visibleAgents(many(COLLAPSE_ABOVE), false, null);
  expect([shown.length, hidden]).toEqual([COLLAPSE_ABOVE, 0]);
});

test("a large fleet shows the highest loads and counts the rest", () => {
  const fleet = agents(...Array.from({ length: 12 }, (_, index) => 1.1 - index * 0.01));
  const { shown, hidden, hiddenOver } = visibleAgents(fleet, false, null);
  expect(shown).toEqual(fleet.slice(0, COLLAPSED_ROWS));
  expect([hidden, hiddenOver]).toEqual([4, 3]);
});

test("all agents are shown on request", () => {
  const fleet = many(60);
  expect(visibleAgents(fleet, true, null)).toEqual({ shown: fleet, hidden: 0, hiddenOver: 0 });
});

test("the focused agent stays visible, sorted by load", () => {
  const { shown, hidden } = visibleAgents(many(30), false, "agent-20");
  expect(shown.map(({ id }) => id).slice(-2)).toEqual([`agent-${COLLAPSED_ROWS - 1}`, "agent-20"]);
  expect(hidden).toBe(30 - COLLAPSED_ROWS - 1);
});
