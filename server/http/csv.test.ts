import { describe, expect, it } from "vitest";
import { cell } from "./csv.ts";

describe("a CSV cell", () => {
  it.each([
    [null, ""],
    [undefined, ""],
    [0, "0"],
    [-42, "-42"],
    [false, "false"],
    ["plain", "plain"],
    ["with, comma", '"with, comma"'],
    ['with "quotes"', '"with ""quotes"""'],
    ["two\nlines", '"two\nlines"'],
    ["=HYPERLINK(1)", "'=HYPERLINK(1)"],
    ["@cmd, x", '"\'@cmd, x"'],
  ])("of %j is %j", (value, text) => {
    expect(cell(value)).toBe(text);
  });
});
