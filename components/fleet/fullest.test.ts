import type { FleetAgent } from "@plimsoll/protocol";
import { expect, test } from "vitest";
import { FULLEST, fullestOf, WHOLE } from "./fullest.ts";

/** Agents with these loads, at a line of 100 tokens. */
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

test("a small fleet is shown whole", () => {
  const { shown, hidden } = fullestOf(many(WHOLE), false, null);
  expect([shown.length, hidden]).toEqual([WHOLE, 0]);
});

test("of a large one the fullest are shown, and the others counted", () => {
  const fleet = agents(...Array.from({ length: 12 }, (_, index) => 1.1 - index * 0.01));
  const { shown, hidden, hiddenOver } = fullestOf(fleet, false, null);
  expect(shown).toEqual(fleet.slice(0, FULLEST));
  expect([hidden, hiddenOver]).toEqual([4, 3]);
});

test("all of them when asked for", () => {
  const fleet = many(60);
  expect(fullestOf(fleet, true, null)).toEqual({ shown: fleet, hidden: 0, hiddenOver: 0 });
});

test("the one somebody stands on stays, in its place by load", () => {
  const { shown, hidden } = fullestOf(many(30), false, "agent-20");
  expect(shown.map(({ id }) => id).slice(-2)).toEqual([`agent-${FULLEST - 1}`, "agent-20"]);
  expect(hidden).toBe(30 - FULLEST - 1);
});
