import fc from "fast-check";
import { expect, test } from "vitest";
import { linearScales, valueAt } from "./scales.ts";

const AREA = { x: 48, y: 26, width: 800, height: 270 };

test("scales map the domain to the plot area, with zero at its bottom", () => {
  const { x, y } = linearScales(AREA, [1, 81], 100);
  expect([x(1), x(41), x(81)]).toEqual([48, 448, 848]);
  expect([y(0), y(100)]).toEqual([296, 26]);
});

test("a pixel is read back as the value that was drawn there", () => {
  fc.assert(
    fc.property(
      fc.integer(),
      fc.integer({ min: 1, max: 1e6 }),
      fc.float({ min: 0, max: 1, noNaN: true }),
      (from, span, share) => {
        const domain = [from, from + span] as const;
        const value = from + share * span;
        expect(valueAt(AREA, domain, linearScales(AREA, domain, 1).x(value))).toBeCloseTo(value, 3);
      },
    ),
  );
});

test("pixels beyond the plot, and a plot without width, give an end of the domain", () => {
  expect([valueAt(AREA, [1, 9], -50), valueAt(AREA, [1, 9], 5_000)]).toEqual([1, 9]);
  expect(valueAt({ ...AREA, width: 0 }, [1, 9], 100)).toBe(1);
});
