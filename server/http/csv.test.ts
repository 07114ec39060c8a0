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
    ["+1+1", "'+1+1"],
    ["-1+1", "'-1+1"],
    ["-5", "'-5"],
    [-5, "-5"],
    ["\n=1+1", '"\'\n=1+1"'],
    ["\r=1+1", '"\'\r=1+1"'],
    ["\t=1+1", "'\t=1+1"],
    [" =1+1", "' =1+1"],
    ["\u00a0\u2003@SUM(1)", "'\u00a0\u2003@SUM(1)"],
    ["\ufeff=1", "'\ufeff=1"],
    ["＝1+1", "'＝1+1"],
    ["＋1", "'＋1"],
    ["－1", "'－1"],
    ["＠SUM(1)", "'＠SUM(1)"],
    [" plain", " plain"],
    ["a=1", "a=1"],
  ])("of %j is %j", (value, text) => {
    expect(cell(value)).toBe(text);
  });
});
