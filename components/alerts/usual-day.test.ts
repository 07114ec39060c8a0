import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { twice, usualDay } from "./usual-day.ts";

const day = (cost_usd: number, { turns = 9, estimated_cost_usd = 0 } = {}) => ({
  ...{ day: "2026-11-20", turns, cost_usd, estimated_cost_usd, unpriced_turns: 0 },
});
const TODAY = day(500);

describe("a usual day", () => {
  it.each([
    { name: "is the middle one", days: [day(9), day(1), day(4), TODAY], usd: 4 },
    { name: "is between the two in the middle", days: [day(1), day(2), day(4), day(90), TODAY], usd: 3 },
    {
      name: "counts estimates",
      days: [1, 2, 3].map((estimated_cost_usd) => day(1, { estimated_cost_usd })).concat(TODAY),
      usd: 3,
    },
    {
      name: "leaves out days without turns",
      days: [day(0, { turns: 0 }), day(2), day(2), day(2), TODAY],
      usd: 2,
    },
    { name: "leaves out today", days: [day(1), day(1), TODAY], usd: undefined },
    { name: "needs a cost", days: [day(0), day(0), day(0), TODAY], usd: undefined },
    { name: "is unknown without days", days: [], usd: undefined },
  ])("$name", ({ days, usd }) => expect(usualDay(days)).toBe(usd));
});

it("twice a cost is a limit that a rule accepts", () => {
  fc.assert(
    fc.property(fc.double({ min: Number.MIN_VALUE, max: 500_000, noNaN: true }), (usd) => {
      expect(twice(usd)).toBeGreaterThan(0);
      expect(twice(usd)).toBeLessThanOrEqual(1_000_000);
    }),
  );
});
