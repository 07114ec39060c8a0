import { expect, test } from "vitest";
import { visibleLabels } from "./visible-labels.ts";

test.each([
  [
    "apart",
    [
      { at: 0, size: 10, rank: 0 },
      { at: 30, size: 10, rank: 0 },
    ],
    [true, true],
  ],
  [
    "touching, the earlier stays",
    [
      { at: 0, size: 20, rank: 0 },
      { at: 10, size: 20, rank: 0 },
    ],
    [true, false],
  ],
  [
    "touching, the higher stays",
    [
      { at: 0, size: 20, rank: 0 },
      { at: 10, size: 20, rank: 1 },
    ],
    [false, true],
  ],
  [
    "a hidden label frees its neighbour",
    [
      { at: 0, size: 20, rank: 1 },
      { at: 15, size: 20, rank: 0 },
      { at: 30, size: 20, rank: 0 },
    ],
    [true, false, true],
  ],
  ["none", [], []],
])("%s", (_, labels, shown) => {
  expect(visibleLabels(labels)).toEqual(shown);
});
