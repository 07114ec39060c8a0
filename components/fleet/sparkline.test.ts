import fc from "fast-check";
import { expect, test } from "vitest";
import { sparkline } from "./sparkline.ts";

const SIZE = { width: 140, height: 26, margin: 4 };

test("levels reach from zero to the highest, the latest at the right", () => {
  const layout = sparkline({ levels: [0, 50, 100], falls: [] }, null, SIZE);
  expect(layout.last).toEqual({ x: 136, y: 4 });
  expect(layout.path).toMatch(/^M98.3 22L/);
});

test("a fall is marked at the level after it", () => {
  const layout = sparkline({ levels: [90, 100, 20], falls: [{ index: 2, type: "masked" }] }, null, SIZE);
  expect(layout.falls).toEqual([{ ...layout.last, type: "masked" }]);
});

test.each([
  [100, 4],
  [160, 4],
  [161, null],
  [null, null],
])("a line at %s above levels up to 100 is drawn at %s", (line, y) => {
  expect(sparkline({ levels: [50, 100], falls: [] }, line, SIZE).lineY).toBe(y);
});

test("an agent without a counted turn has no point", () => {
  expect(sparkline({ levels: [], falls: [] }, 100, SIZE)).toMatchObject({ path: "", last: null, falls: [] });
});

test("every point is inside", () => {
  fc.assert(
    fc.property(
      fc.array(fc.nat(2_000_000), { maxLength: 30 }),
      fc.option(fc.nat(2_000_000)),
      (levels, line) => {
        const falls = levels.map((_, index) => ({ index, type: "masked" as const }));
        const layout = sparkline({ levels, falls }, line, SIZE);
        expect(layout.falls).toHaveLength(levels.length);
        for (const { x, y } of layout.falls) {
          expect(x).toBeGreaterThanOrEqual(SIZE.margin - 0.1);
          expect(x).toBeLessThanOrEqual(SIZE.width - SIZE.margin + 0.1);
          expect(y).toBeGreaterThanOrEqual(SIZE.margin - 0.1);
          expect(y).toBeLessThanOrEqual(SIZE.height - SIZE.margin + 0.1);
        }
      },
    ),
  );
});
