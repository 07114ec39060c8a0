import { expect, it } from "vitest";
import { pairsOf, sliceAt } from "./shift.ts";

it("numbers slices from the epoch", () => {
  expect([0, 4_999, 5_000, 12_345].map((at) => sliceAt(5_000, at))).toEqual([0, 0, 1, 2]);
});

it("pairs each even slice with the odd one after it, with what was answered late", () => {
  expect(pairsOf({ 4: 100, 5: 3, 6: 120 }, { 5: 90, 6: 2, 7: 80, 8: 1 })).toEqual([
    { slice: 4, even: 103, odd: 92 },
    { slice: 6, even: 120, odd: 81 },
  ]);
});

it("leaves out slices that only one side has", () => {
  expect(pairsOf({ 2: 1, 4: 1 }, { 1: 1, 3: 1 })).toEqual([{ slice: 2, even: 1, odd: 1 }]);
});
