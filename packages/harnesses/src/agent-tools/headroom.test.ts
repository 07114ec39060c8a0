import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { fitOf, headroomOf, type KnownLine, VERDICTS } from "./headroom.ts";

const at = (tokens: number | undefined): KnownLine => ({ tokens, source: "harness" });
const rising = (level: number, step: number) =>
  Array.from({ length: 8 }, (_, index) => level - step * (7 - index));

describe("the verdict", () => {
  it.each([
    [50_000, 1_000, 167_000, "plenty", 117],
    [50_000, 14_000, 167_000, "plenty", 9],
    [60_000, 14_000, 167_000, "plan_a_checkpoint", 8],
    [134_000, 500, 167_000, "plan_a_checkpoint", 66],
    [140_000, 14_000, 167_000, "checkpoint_now", 2],
    [156_000, 500, 167_000, "checkpoint_now", 22],
    [170_000, 500, 167_000, "checkpoint_now", 0],
    [90_000, 0, 167_000, "plenty", undefined],
    [90_000, 1_000, undefined, "unknown", undefined],
  ])("at %i tokens, by %i a step, with the line at %s: %s", (level, step, line, verdict, stepsLeft) => {
    expect(headroomOf({ level, recent: rising(level, step) }, at(line))).toMatchObject({
      verdict,
      stepsLeft,
    });
  });

  it("never eases while the level rises, whatever the levels before", () => {
    const level = fc.integer({ min: 0, max: 2_000_000 });
    const flat = fc.array(level, { maxLength: 12 });
    fc.assert(
      fc.property(level, level, fc.integer({ min: 1, max: 1_000_000 }), flat, (one, other, line, recent) => {
        // Two levels have no pace of their own.
        const rank = (tokens: number) =>
          VERDICTS.indexOf(headroomOf({ level: tokens, recent: recent.slice(0, 2) }, at(line)).verdict);
        expect(rank(Math.max(one, other))).toBeGreaterThanOrEqual(rank(Math.min(one, other)));
      }),
    );
  });
});

describe("what fits", () => {
  const agent = { level: 100_000, windowTokens: 200_000 };

  it.each([
    [67_000, at(167_000), "yes", 0],
    [67_001, at(167_000), "past_the_line", -1],
    [100_001, at(167_000), "no", -33_001],
    [100_001, { tokens: 200_000, source: "window_end" } as const, "no", -1],
    [0, at(90_000), "past_the_line", -10_000],
    [5, at(undefined), "yes", 99_995],
  ])("%i tokens, line %j: %s", (tokens, line, fits, spare) => {
    expect(fitOf(tokens, agent, line)).toEqual({ fits, spare });
  });

  it("is unknown without a line and a window", () => {
    expect(fitOf(5, { level: 9, windowTokens: undefined }, at(undefined))).toEqual({
      fits: "unknown",
      spare: undefined,
    });
  });
});
