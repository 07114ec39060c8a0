import { expect, test } from "vitest";
import { namesText } from "./names-text.ts";

test("no warning while every name has its place", () => {
  expect(namesText({ limit: 500, turns_over_limit: 0, boundaries_over_limit: 0 })).toBeUndefined();
});

test.each([
  [1, 0, "Charts count 1 turn as"],
  [19_501, 0, "Charts count 19,501 turns as"],
  [0, 2, "Charts count 2 boundaries as"],
  [3, 1, "Charts count 3 turns and 1 boundary as"],
])("%i turns and %i boundaries over the limit: %s", (turns_over_limit, boundaries_over_limit, text) => {
  expect(namesText({ limit: 500, turns_over_limit, boundaries_over_limit })).toContain(text);
});
