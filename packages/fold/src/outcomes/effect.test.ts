import { describe, expect, it } from "vitest";
import { type OutcomeCell, OutcomeCells } from "./cells.ts";
import { ceilingEffect } from "./effect.ts";
import { signalCells } from "./signal-cells.ts";

/** Sessions of 100 calls at growing levels up to a ceiling; above 50k tokens, one in `every` fails, and below one in 20. */
function sessions(count: number, ceiling: number, every: number, offset = 0): OutcomeCell[][] {
  return Array.from({ length: count }, (_, session) => {
    const cells = new OutcomeCells();
    const step = 700 + 40 * (session % 30);
    let level = step;
    for (let number = 1; number <= 100; number++) {
      const failed = (number * 7 + session + offset) % (level >= 50_000 ? every : 20) === 0 ? 1 : 0;
      cells.add({ number, level, share: undefined, outcome: { calls: 1, failed } });
      level = level + step > ceiling ? step : level + step;
    }
    return cells.cells();
  });
}

const effect = (before: OutcomeCell[][], after: OutcomeCell[][], days = 20) =>
  ceilingEffect(signalCells(before, "failed"), signalCells(after, "failed"), { ceiling: 50_000, days });

describe("the effect of a ceiling", () => {
  const before = sessions(60, 200_000, 5);

  it("is met if calls fail less often, as estimated", () => {
    const found = effect(before, sessions(60, 50_000, 5, 3));
    expect(found.verdict).toBe("met");
    expect(found.estimate!.change).toBeLessThan(-0.03);
    expect(found.measured!.high).toBeLessThan(0);
    expect(found.after.rate).toBeCloseTo(0.05, 1);
    // The estimate is near what was measured.
    expect(Math.abs(found.estimate!.change - found.measured!.change)).toBeLessThan(0.03);
  });

  it("is missed if calls fail as often as before", () => {
    expect(effect(before, sessions(60, 200_000, 5, 3)).verdict).toBe("missed");
  });

  it("is missed without an estimate if calls fail more often", () => {
    const even = sessions(60, 200_000, 20);
    expect(effect(even, sessions(60, 200_000, 20, 3)).estimate).toBeUndefined();
    expect(effect(even, sessions(60, 200_000, 4, 3)).verdict).toBe("missed");
  });

  it.each([
    ["within two weeks", before, sessions(60, 50_000, 5), 13],
    ["with few sessions after it", before, sessions(29, 50_000, 5), 20],
    ["with few sessions before it", sessions(29, 200_000, 5), sessions(60, 50_000, 5), 20],
  ] as const)("is not judged %s", (_, one, other, days) => {
    expect(effect(one, other, days).verdict).toBe("too_early");
  });

  it("is unknown without calls", () => {
    expect(effect([], [])).toEqual({
      estimate: undefined,
      before: { sessions: 0, rate: undefined },
      after: { sessions: 0, rate: undefined },
      measured: undefined,
      verdict: "too_early",
    });
  });
});
