import { expect, test } from "vitest";
import { visibleLabels } from "./visible-labels.ts";

test.each([
  [
    "separate labels all stay",
    [
      { at: 0, size: 10, rank: 0 },
      { at: 30, size: 10, rank: 0 },
    ],
    [true, true],
  ],
  [
    "the earlier of two touching labels stays",
    [
      { at: 0, size: 20, rank: 0 },
      { at: 10, size: 20, rank: 0 },
    ],
    [true, false],
  ],
  [
    "the higher rank of two touching labels stays",
    [
      { at: 0, size: 20, rank: 0 },
      { at: 10, size: 20, rank: 1 },
    ],
    [false, true],
  ],
  [
    "a hidden label does not hide its neighbor",
    [
      { at: 0, size: 20, rank: 1 },
      { at: 15, size: 20, rank: 0 },
      { at: 30, size: 20, rank: 0 },
    ],
    [true, false, true],
  ],
  ["no labels", [], []],
])("%s", (_, labels, shown) => {
  expect(visibleLabels(labels)).toEqual(shown);
});
