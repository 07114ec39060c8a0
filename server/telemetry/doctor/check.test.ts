import { expect, it } from "vitest";
import { counted } from "./check.ts";

it.each([
  [0, "turn", "0 turns"],
  [1, "turn", "1 turn"],
  [1_234, "mark", "1,234 marks"],
])("%s of %s is told as %s", (value, noun, text) => {
  expect(counted(value, noun)).toBe(text);
});
