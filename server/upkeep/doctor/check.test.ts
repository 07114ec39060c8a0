import { expect, it } from "vitest";
import { plural } from "./check.ts";

it.each([
  [0, "turn", "0 turns"],
  [1, "turn", "1 turn"],
  [1_234, "mark", "1,234 marks"],
])("plural(%j, %j) returns %j", (value, noun, text) => {
  expect(plural(value, noun)).toBe(text);
});
