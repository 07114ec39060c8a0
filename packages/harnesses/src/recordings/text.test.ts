import { expect, it } from "vitest";
import { fit } from "./text.ts";

it.each([
  ["short", "short"],
  ["\u0000", "\ufffd"],
  ["a\ud800b", "a\ufffdb"],
  ["x".repeat(20), "x".repeat(20)],
])("fit(%j) is %j", (text, expected) => {
  expect(fit(text, 20)).toBe(expected);
});

it("cuts a long text to the length, also between the halves of a character", () => {
  for (const length of [20, 21]) {
    const cut = fit("🧵".repeat(100), length);
    expect(cut.length).toBeLessThanOrEqual(length);
    expect(cut.isWellFormed()).toBe(true);
  }
});

it("keeps long texts with the same beginning apart", () => {
  expect(fit(`${"x".repeat(50)}a`, 20)).not.toBe(fit(`${"x".repeat(50)}b`, 20));
});
