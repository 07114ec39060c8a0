import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { type AskingTurn, type EndedCall, outcomesOfResults } from "./tool-results.ts";

const turns: AskingTurn[] = [
  { beganAt: 0, mark: 10 },
  { beganAt: 100, mark: 11 },
  { beganAt: 200, mark: 12 },
];
const ended = (at: number, result: "ok" | "failed" | "rejected" = "ok", resultOf?: number): EndedCall => ({
  at,
  resultOf,
  outcome: { calls: 1, failed: Number(result === "failed"), rejected: Number(result === "rejected") },
});
const sums = (calls: readonly EndedCall[]) => Object.fromEntries(outcomesOfResults(turns, calls));

describe("what came of the calls of a turn", () => {
  it.each([
    ["before any turn", [ended(-1)], {}],
    ["as the turn begins", [ended(100)], { 1: { calls: 1, failed: 0, rejected: 0 } }],
    ["before the next turn begins", [ended(199, "failed")], { 1: { calls: 1, failed: 1, rejected: 0 } }],
    ["long after the last turn", [ended(9_999, "rejected")], { 2: { calls: 1, failed: 0, rejected: 1 } }],
    ["of a turn that was told", [ended(250, "failed", 10)], { 0: { calls: 1, failed: 1, rejected: 0 } }],
    ["of a turn that is missing", [ended(250, "failed", 99)], {}],
    [
      "of several calls",
      [ended(1), ended(2, "failed"), ended(3, "rejected"), ended(100)],
      { 0: { calls: 3, failed: 1, rejected: 1 }, 1: { calls: 1, failed: 0, rejected: 0 } },
    ],
    [
      "of a call that was stopped and failed by that",
      [{ at: 1, resultOf: undefined, outcome: { calls: 1, failed: 1, rejected: 1 } }],
      { 0: { calls: 1, failed: 0, rejected: 1 } },
    ],
  ])("counts one %s", (_, calls, expected) => {
    expect(sums(calls)).toEqual(expected);
  });

  it("counts at most as many as a turn can hold", () => {
    const many = Array.from({ length: 1_000 }, () => ended(1, "failed"));
    expect(sums(many)).toEqual({ 0: { calls: 63, failed: 63, rejected: 0 } });
  });

  it("does not depend on the order of turns and results", () => {
    const anyTurns = fc.uniqueArray(fc.record({ beganAt: fc.nat(20), mark: fc.nat(9) }), {
      selector: ({ mark }) => mark,
    });
    const anyEnded = fc.record({
      at: fc.integer({ min: -2, max: 25 }),
      resultOf: fc.option(fc.nat(11), { nil: undefined }),
      result: fc.constantFrom("ok" as const, "failed" as const, "rejected" as const),
    });
    fc.assert(
      fc.property(
        anyTurns.chain((all) =>
          fc.tuple(fc.constant(all), fc.shuffledSubarray(all, { minLength: all.length })),
        ),
        fc
          .array(anyEnded)
          .map((all) => all.map(({ at, result, resultOf }) => ended(at, result, resultOf)))
          .chain((all) => fc.tuple(fc.constant(all), fc.shuffledSubarray(all, { minLength: all.length }))),
        ([one, other], [calls, shuffled]) => {
          const byMark = (list: readonly AskingTurn[], given: readonly EndedCall[]) =>
            new Map([...outcomesOfResults(list, given)].map(([index, sum]) => [list[index]!.mark, sum]));
          expect(byMark(other, shuffled)).toEqual(byMark(one, calls));
        },
      ),
    );
  });
});
