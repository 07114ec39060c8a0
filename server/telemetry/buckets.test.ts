import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { grainFor, stepFor } from "./buckets.ts";

const HOUR = 3_600_000;
const span = (hours: number) => ({ from: 0, to: hours * HOUR });

describe("the step of a series", () => {
  it.each([
    [1, 60],
    [6, 300],
    [24, 900],
    [24 * 7, 10_800],
    [24 * 30, 21_600],
    [24 * 365, 604_800],
  ])("for %i hours is %i s", (hours, step) => {
    expect(stepFor(span(hours), undefined)).toBe(step);
  });

  it("keeps the step asked for while it gives at most 1,000 buckets", () => {
    expect(stepFor(span(24), 120)).toBe(120);
    expect(stepFor(span(24 * 30), 60)).toBe(3_600);
  });

  it("never gives more than 1,000 buckets and always has rollup rows fine enough", () => {
    fc.assert(
      fc.property(
        fc.integer({ min: 1, max: 24 * 3650 }),
        fc.option(fc.integer({ min: 60, max: 2_678_400 }), { nil: undefined }),
        (hours, asked) => {
          const step = stepFor(span(hours), asked);
          expect((hours * 3_600) / step).toBeLessThanOrEqual(1_000);
          expect((step * 1_000) % (grainFor(step) * 60_000) === 0 || grainFor(step) === 1).toBe(true);
        },
      ),
    );
  });
});
