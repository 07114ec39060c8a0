import { expect, test } from "vitest";
import { parseTokens } from "./parse-tokens.ts";

test.each([
  ["131072", 131_072],
  ["131,072", 131_072],
  ["128k", 128_000],
  [" 1.5M ", 1_500_000],
  ["1_000", 1000],
  ["0", null],
  ["1.5", null],
  ["-5", null],
  ["12x", null],
  ["", null],
  ["3000000000", null],
])("parseTokens(%s) is %s", (text, tokens) => {
  expect(parseTokens(text)).toBe(tokens);
});
