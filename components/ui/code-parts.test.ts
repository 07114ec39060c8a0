import { expect, test } from "vitest";
import { codeParts } from "./code-parts.ts";

const text = (text: string) => ({ text, isCode: false });
const code = (text: string) => ({ text, isCode: true });

test.each([
  ["Start it again.", [text("Start it again.")]],
  ["Run `npm ci` first.", [text("Run "), code("npm ci"), text(" first.")]],
  ["`npm ci`, then `npm start`", [code("npm ci"), text(", then "), code("npm start")]],
  ["A ` without a partner", [text("A ` without a partner")]],
  ["", []],
])("%j", (input, parts) => {
  expect(codeParts(input)).toEqual(parts);
});
