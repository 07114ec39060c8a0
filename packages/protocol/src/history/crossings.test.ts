import fc from "fast-check";
import { describe, expect, test } from "vitest";
import type { Crossing, Level } from "./crossings.ts";
import { crossingsOf, reconcileCrossings } from "./crossings.ts";
import { report, thresholds } from "./testing/agent-history.ts";
import type { ThresholdName, Thresholds } from "./thresholds.ts";
import { DEFAULT_THRESHOLDS, THRESHOLD_NAMES, thresholdTokens } from "./thresholds.ts";

const level = (
  turnKey: string,
  contextTokens: number,
  at = 0,
  windowTokens: number | undefined = 1_000,
): Level => ({
  turnKey,
  at,
  contextTokens,
  windowTokens,
});

function walk(levels: readonly Level[], chosen: Thresholds): Crossing[] {
  let above: readonly ThresholdName[] = [];
  return levels.flatMap((each) => {
    const step = crossingsOf(above, each, chosen);
    above = step.above;
    return step.crossings;
  });
}

/** One threshold at a time: up at or over it, down below 95 % of it, nothing while it has no tokens. */
function modelWalk(levels: readonly Level[], chosen: Thresholds): string[] {
  const said: string[] = [];
  for (const name of THRESHOLD_NAMES) {
    let isAbove = false;
    for (const { turnKey, contextTokens, windowTokens } of levels) {
      const limit = thresholdTokens(name, chosen[name], windowTokens);
      if (limit === undefined) continue;
      if (!isAbove && contextTokens >= limit) {
        isAbove = true;
        said.push(`${name}/up/${turnKey}`);
      } else if (isAbove && contextTokens < 0.95 * limit) {
        isAbove = false;
        said.push(`${name}/down/${turnKey}`);
      }
    }
  }
  return said.sort();
}

const levels = fc
  .array(fc.tuple(fc.nat(1_200), fc.constantFrom(1_000, 1_000, 2_000, undefined)), { maxLength: 30 })
  .map((steps) =>
    steps.map(([tokens, window], index) => ({ ...level(`t${index}`, tokens, index), windowTokens: window })),
  );

test("crossings agree with a plain reading of the rule", () => {
  fc.assert(
    fc.property(levels, thresholds, (given, chosen) => {
      expect(
        walk(given, chosen)
          .map((crossing) => crossing.id)
          .sort(),
      ).toEqual(modelWalk(given, chosen));
    }),
    { numRuns: 1_000 },
  );
});

test("up and down of one threshold take turns", () => {
  fc.assert(
    fc.property(levels, thresholds, (given, chosen) => {
      for (const name of THRESHOLD_NAMES) {
        const directions = walk(given, chosen).filter((crossing) => crossing.threshold === name);
        for (const [index, crossing] of directions.entries()) expect(crossing.up).toBe(index % 2 === 0);
      }
    }),
  );
});

describe("hysteresis", () => {
  const only: Thresholds = { ...DEFAULT_THRESHOLDS, warning: null, ceiling: null, soft: null, hard: 800 };
  test.each<[string, number[], string[]]>([
    ["the threshold itself is crossed", [799, 800], ["hard/up/t1"]],
    ["swaying on the edge is one crossing", [800, 790, 805, 799, 801], ["hard/up/t0"]],
    ["5 % below is not yet left", [800, 760], ["hard/up/t0"]],
    [
      "further below is left, and may be crossed anew",
      [800, 759, 800],
      ["hard/up/t0", "hard/down/t1", "hard/up/t2"],
    ],
  ])("%s", (_, given, ids) => {
    expect(
      walk(
        given.map((tokens, index) => level(`t${index}`, tokens, index)),
        only,
      ).map((each) => each.id),
    ).toEqual(ids);
  });
  test("a leap crosses every threshold on its way", () => {
    expect(walk([level("t", 950)], DEFAULT_THRESHOLDS).map((each) => each.threshold)).toEqual([
      "warning",
      "ceiling",
      "soft",
      "hard",
    ]);
  });
  test("an unknown window crosses no share", () => {
    expect(walk([{ ...level("t", 10_000_000), windowTokens: undefined }], DEFAULT_THRESHOLDS)).toEqual([]);
  });
});

describe("what the harness reported", () => {
  const levels = [level("t1", 100, 10), level("t2", 160, 20), level("t3", 170, 30)];
  const derived = walk(levels, DEFAULT_THRESHOLDS);

  test("and what was derived for the same turn are one crossing", () => {
    const joined = reconcileCrossings(derived, [report("r", 21, "warning", true, 160)], levels);
    expect(joined).toHaveLength(derived.length);
    expect(joined[0]).toMatchObject({ id: "warning/up/t2", origin: "both" });
  });
  test("is found by its level when its clock is a little early", () => {
    const joined = reconcileCrossings(derived, [report("r", 19, "warning", true, 160)], levels);
    expect(joined.map((each) => each.origin)).toEqual(["both"]);
  });
  test("is found by time when its count differs", () => {
    const joined = reconcileCrossings(derived, [report("r", 22, "warning", true, 163)], levels);
    expect(joined.map((each) => each.origin)).toEqual(["both"]);
  });
  test("stands alone under a name of its own", () => {
    const joined = reconcileCrossings(derived, [report("r", 31, "budget", true, 170)], levels);
    expect(joined[1]).toMatchObject({ threshold: "budget", origin: "reported", turnKey: "t3" });
  });
  test("stands alone in the other direction", () => {
    expect(reconcileCrossings(derived, [report("r", 21, "warning", false, 160)], levels)).toHaveLength(2);
  });
  test("twice for one turn is one", () => {
    const twice = [report("r1", 31, "budget", true, 170), report("r2", 32, "budget", true, 170)];
    expect(reconcileCrossings(derived, twice, levels)).toHaveLength(2);
  });
  test("before any turn is kept by its own id", () => {
    expect(reconcileCrossings([], [report("r", 5, "warning", true, 999)], levels)).toMatchObject([
      { id: "reported/r", turnKey: undefined, contextTokens: 999 },
    ]);
  });
});
