import fc from "fast-check";
import { expect, it } from "vitest";
import { backoffMs } from "./backoff.ts";

const backoff = fc.record({
  firstMs: fc.integer({ min: 1, max: 3_600_000 }),
  mostMs: fc.integer({ min: 1, max: 3_600_000 }),
});
const random = fc.double({ min: 0, max: 1, noNaN: true });
const failures = fc.integer({ min: 1, max: 1_000_000 });

it("doubles from the first wait up to the longest", () => {
  const waits = [1, 2, 3, 4, 5, 2_000].map((count) => backoffMs(count, { firstMs: 500, mostMs: 5_000 }, 0));
  expect(waits).toEqual([500, 1_000, 2_000, 4_000, 5_000, 5_000]);
});

it("shortens each wait by up to a half, and never exceeds the longest", () => {
  fc.assert(
    fc.property(failures, backoff, random, (count, options, chance) => {
      const whole = backoffMs(count, options, 0);
      const wait = backoffMs(count, options, chance);
      expect(wait).toBeGreaterThanOrEqual(whole / 2);
      expect(wait).toBeLessThanOrEqual(whole);
      expect(whole).toBeLessThanOrEqual(options.mostMs);
      expect(whole).toBeGreaterThanOrEqual(Math.min(options.firstMs, options.mostMs));
    }),
  );
});

it("waits at least as long after one more failure", () => {
  fc.assert(
    fc.property(failures, backoff, random, (count, options, chance) => {
      expect(backoffMs(count + 1, options, chance)).toBeGreaterThanOrEqual(backoffMs(count, options, chance));
    }),
  );
});
