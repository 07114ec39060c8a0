import { describe, expect, it } from "vitest";
import { visibleText } from "./visible-text.ts";

describe("visibleText", () => {
  it.each([
    ...[
      "\u202a",
      "\u202b",
      "\u202c",
      "\u202d",
      "\u202e",
      "\u2066",
      "\u2067",
      "\u2068",
      "\u2069",
      "\u200e",
      "\u200f",
    ],
    ...["\u061c", "\u200b", "\u2060", "\ufeff", "\u00ad", "\u2028", "\u2029", "\u115f", "\u3164", "\ufff9"],
    ...["\u001b", "\u0000", "\u0085", "\u007f"],
  ])("shows %j", (character) => {
    const code = character.charCodeAt(0).toString(16).padStart(4, "0");
    expect(visibleText(`a${character}b${character}`)).toBe(`a\\u${code}b\\u${code}`);
  });

  it("shows the letters of a hidden text", () => {
    expect(visibleText("a\u{e0041}\u{e007f}")).toBe("a\\u{e0041}\\u{e007f}");
  });

  it.each([
    "plain",
    "",
    "two\nlines\tand\r",
    "\u{1f468}\u200d\u{1f469}\u200d\u{1f467}",
    "\u2764\ufe0f",
    "می\u200cخواهم",
    "שלום",
    "مرحبا",
    "e\u0301",
    "漢字",
    "\u{845b}\u{e0100}",
  ])("keeps %j", (text) => {
    expect(visibleText(text)).toBe(text);
  });

  it("changes nothing the second time", () => {
    const once = visibleText("\u202eabc");
    expect(visibleText(once)).toBe(once);
  });
});
