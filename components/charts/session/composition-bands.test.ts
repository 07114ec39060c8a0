import { describe, expect, it } from "vitest";
import { compositionBands, highestStack } from "./composition-bands.ts";
import type { SawPoint } from "./shape.ts";

const points = [1, 2, 3, 4].map((number) => ({ x: number * 10, y: 0, point: { number } }) as SawPoint);
const parts = [{ name: "history" }, { name: "rest" }] as const;

describe("the bands of the window's parts", () => {
  it("are stacked, and a turn without parts leaves a gap", () => {
    const rows = [
      { number: 1, history: 60, rest: 40 },
      { number: 2, history: 70 },
      { number: 4, history: 5, rest: 5 },
    ];
    expect(compositionBands(points, rows, parts)).toEqual([
      {
        name: "history",
        lower: [
          { x: 10, y: 0 },
          { x: 20, y: 0 },
        ],
        upper: [
          { x: 10, y: 60 },
          { x: 20, y: 70 },
        ],
      },
      {
        name: "rest",
        lower: [
          { x: 10, y: 60 },
          { x: 20, y: 70 },
        ],
        upper: [
          { x: 10, y: 100 },
          { x: 20, y: 70 },
        ],
      },
      { name: "history", lower: [{ x: 40, y: 0 }], upper: [{ x: 40, y: 5 }] },
      { name: "rest", lower: [{ x: 40, y: 5 }], upper: [{ x: 40, y: 10 }] },
    ]);
    expect(highestStack(rows)).toBe(100);
  });

  it("are none without parts", () => {
    expect(compositionBands(points, [], parts)).toEqual([]);
    expect(highestStack([])).toBe(1);
  });
});
