import type { FleetAgent } from "@plimsoll/protocol/api";
import { expect, test } from "vitest";
import { COLLAPSED_ROWS, COLLAPSED_ROWS_WIDE, visibleAgents } from "./visible-agents.ts";

/** Agents with these loads and a line at 100 tokens. */
const agents = (...loads: number[]) =>
  loads.map(
    (load, index) =>
      ({
        id: `agent-${index}`,
        context_tokens: load * 100,
        window_tokens: 1_000,
        line: { threshold: "ceiling", tokens: 100 },
        forecast: { end_turns: null },
        thresholds: [],
      }) as unknown as FleetAgent,
  );
const many = (count: number, load = 0.5) => agents(...Array.from({ length: count }, () => load));

test("a small fleet is shown in full", () => {
  const { shown, hidden } = visibleAgents(many(COLLAPSED_ROWS + 2), false);
  expect([shown.length, hidden]).toEqual([COLLAPSED_ROWS + 2, 0]);
});

test("a large fleet shows the highest loads and counts the rest", () => {
  const fleet = agents(...Array.from({ length: 12 }, (_, index) => 1.1 - index * 0.01));
  const { shown, hidden, hiddenOver } = visibleAgents(fleet, false);
  expect(shown).toEqual(fleet.slice(0, COLLAPSED_ROWS));
  expect([hidden, hiddenOver]).toEqual([4, 3]);
});

test("all agents are shown on request", () => {
  const fleet = many(60);
  expect(visibleAgents(fleet, true)).toEqual({
    collapsible: true,
    shown: fleet,
    hidden: 0,
    hiddenOver: 0,
  });
});

test("a wide screen shows more of a large fleet", () => {
  const { shown, hidden } = visibleAgents(many(30), false, COLLAPSED_ROWS_WIDE);
  expect([shown.length, hidden]).toEqual([COLLAPSED_ROWS_WIDE, 30 - COLLAPSED_ROWS_WIDE]);
});
