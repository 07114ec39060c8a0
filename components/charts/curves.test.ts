import fc from "fast-check";
import { expect, test } from "vitest";
import { areaPath, CURVE_BOX, curvePath } from "./curves.ts";

const SCALE = { from: 0, to: 100, top: 2 };
const rowsOf = (values: readonly (number | null)[]) =>
  values.map((value, n) => ({ at: n * 10, peak: value }));

test.each<[string, (number | null)[], string]>([
  ["nothing", [], ""],
  ["only gaps", [null, null], ""],
  ["a value alone, which is drawn as a dot", [null, 1, null], ""],
  ["a run", [0, 1, 2], "M0 100L100 50L200 0"],
  ["a gap", [1, 1, null, 2, 2], "M0 50L100 50M300 0L400 0"],
])("the path of %s", (_, values, expected) => {
  expect(curvePath(rowsOf(values), "peak", SCALE)).toBe(expected);
  expect(curvePath(rowsOf(values), "p95", SCALE)).toBe("");
});

test("an area ends on the floor at both sides of each run", () => {
  expect(areaPath(rowsOf([1, 2, null, 1, null, 1, 1]), "peak", SCALE)).toBe(
    "M0 100L0 50L100 0L100 100ZM500 100L500 50L600 50L600 100Z",
  );
});

test("a path has the values of all runs, within the drawing", () => {
  const value = fc.option(fc.double({ min: 0, max: 2, noNaN: true }));
  fc.assert(
    fc.property(fc.array(value, { maxLength: 11 }), (values) => {
      const path = curvePath(rowsOf(values), "peak", SCALE);
      const neighboured = values.filter(
        (one, n) => one !== null && [values[n - 1], values[n + 1]].some((other) => typeof other === "number"),
      );
      const numbers = path.match(/-?[\d.]+/g)?.map(Number) ?? [];
      expect(numbers).toHaveLength(neighboured.length * 2);
      for (const [n, place] of numbers.entries()) {
        expect(place).toBeGreaterThanOrEqual(0);
        expect(place).toBeLessThanOrEqual(n % 2 === 0 ? CURVE_BOX.width : CURVE_BOX.height);
      }
    }),
  );
});
