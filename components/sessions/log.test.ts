import type { BoundaryView, CrossingView, TurnView } from "@plimsoll/protocol";
import { expect, test } from "vitest";
import { logRows } from "./log.ts";

const at = (seconds: number) => new Date(Date.UTC(2026, 10, 20, 10) + seconds * 1000).toISOString();
const turn = (number: number) => ({ number, agent_id: "a", at: at(number * 10) }) as TurnView;
const boundary = (id: string, seconds: number, inferred = false) =>
  ({ id, at: at(seconds), inferred }) as BoundaryView;
const crossing = (threshold: string, seconds: number) => ({ threshold, at: at(seconds) }) as CrossingView;

function words(...args: Parameters<typeof logRows>): string[] {
  return logRows(...args).map((row) =>
    row.kind === "turn"
      ? `turn ${row.turn.number}`
      : row.kind === "boundary"
        ? row.boundary.id
        : row.crossing.threshold,
  );
}

const turns = [turn(3), turn(2), turn(1)];

test("newest first, each between the turns it happened between", () => {
  expect(words(turns, [boundary("masked", 25), boundary("subtick", 12)], [], true)).toEqual([
    "turn 3",
    "masked",
    "turn 2",
    "subtick",
    "turn 1",
  ]);
});

test("at the instant of a turn: its crossing is newer, the fall it shows is older", () => {
  expect(words(turns, [boundary("unexplained", 20, true)], [crossing("warning", 20)], true)).toEqual([
    "turn 3",
    "warning",
    "turn 2",
    "unexplained",
    "turn 1",
  ]);
});

test("what came after the latest turn stands on top", () => {
  expect(words(turns, [boundary("masked", 99)], [], true)[0]).toBe("masked");
});

test("older marks wait until their turns are loaded", () => {
  expect(words(turns, [boundary("old", 1)], [], false)).toEqual(["turn 3", "turn 2", "turn 1"]);
  expect(words(turns, [boundary("old", 1)], [], true).at(-1)).toBe("old");
});

test("marks without any turn are still told", () => {
  expect(words([], [boundary("masked", 1)], [], true)).toEqual(["masked"]);
});
