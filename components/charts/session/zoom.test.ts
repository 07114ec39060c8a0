import fc from "fast-check";
import { describe, expect, it } from "vitest";
import type { Saw, SawPoint } from "./shape.ts";
import { lineWithin, pointNear, pointOfTurn, sawWithin, zoomDomain } from "./zoom.ts";

const point = (number: number, x = number): SawPoint => ({
  x,
  y: number * 10,
  point: { number } as SawPoint["point"],
});
const points = [1, 2, 3, 4, 5, 6].map((number) => point(number));
const timed = [1, 2, 3, 4].map((number) => point(number, number * 1_000));

describe("a zoom", () => {
  it("shows its turns with half a turn around them, or on the time axis their times", () => {
    expect(zoomDomain(points, { from: 2, to: 4 }, "turns")).toEqual([1.5, 4.5]);
    expect(zoomDomain(timed, { from: 2, to: 99 }, "time")).toEqual([2_000, 4_000]);
  });

  it.each([
    ["turns that do not exist", { from: 90, to: 99 }],
    ["a single turn", { from: 3, to: 3 }],
  ])("is none of %s", (_, span) => {
    expect(zoomDomain(points, span, "turns")).toBeUndefined();
  });

  it("is none on the time axis if all its turns have one time", () => {
    expect(zoomDomain([point(1, 5), point(2, 5)], { from: 1, to: 2 }, "time")).toBeUndefined();
  });

  it("keeps the points beyond its ends for lines, and not for marks", () => {
    const saw: Saw = {
      points,
      path: points.map(({ x, y }) => ({ x, y })),
      markers: [2.5, 5.5].map((x) => ({
        x,
        from: 1,
        to: 0,
        before: undefined,
        after: undefined,
        boundary: {} as never,
      })),
      windows: [{ x: 5.5, index: 1 }],
    };
    const seen = sawWithin(saw, [1.5, 4.5]);
    expect(seen.points.map(({ x }) => x)).toEqual([2, 3, 4]);
    expect(seen.path.map(({ x }) => x)).toEqual([1, 2, 3, 4, 5]);
    expect(seen.markers.map(({ x }) => x)).toEqual([2.5]);
    expect(seen.windows).toEqual([]);
  });

  it("a line that only passes through is drawn, and one that ends before is not", () => {
    expect(lineWithin([{ x: 1 }, { x: 9 }], [3, 4])).toEqual([{ x: 1 }, { x: 9 }]);
    expect(lineWithin([{ x: 1 }, { x: 2 }], [3, 4])).toEqual([]);
    expect(lineWithin([], [3, 4])).toEqual([]);
  });
});

describe("the turn at a place", () => {
  it("is the nearest one, whatever the order of the clock", () => {
    fc.assert(
      fc.property(fc.array(fc.integer({ min: 0, max: 1_000 }), { minLength: 1 }), fc.integer(), (xs, x) => {
        const found = pointNear(
          xs.map((at, index) => point(index + 1, at)),
          x,
        )!;
        expect(Math.abs(found.x - x)).toBe(Math.min(...xs.map((at) => Math.abs(at - x))));
      }),
    );
    expect(pointNear([], 3)).toBeUndefined();
  });

  it("of a thinned history is the last one drawn before it", () => {
    expect(pointOfTurn([point(2), point(9)], 8)!.point.number).toBe(2);
    expect(pointOfTurn([point(2), point(9)], 1)).toBeUndefined();
  });
});
