import { expect, it } from "vitest";
import { fitName } from "./text.ts";

it.each([
  ["short", "short"],
  ["\u0000", "\ufffd"],
  ["a\ud800b", "a\ufffdb"],
  ["x".repeat(20), "x".repeat(20)],
])("fitName(%j) is %j", (text, expected) => {
  expect(fitName(text, 20)).toBe(expected);
});

it("cuts a long text to the length, also between the halves of a character", () => {
  for (const length of [20, 21]) {
    const cut = fitName("🧵".repeat(100), length);
    expect(cut.length).toBeLessThanOrEqual(length);
    expect(cut.isWellFormed()).toBe(true);
  }
});

it("keeps long texts with the same beginning apart", () => {
  expect(fitName(`${"x".repeat(50)}a`, 20)).not.toBe(fitName(`${"x".repeat(50)}b`, 20));
});
