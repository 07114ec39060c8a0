import { expect, it } from "vitest";
import { sizeOfTool } from "./size-of.ts";

const results = [
  ...[100, 90_000, 300, 200].map((tokens) => ({ tool: "Read", tokens })),
  ...[50, 70].map((tokens) => ({ tool: "mcp__docs__search", tokens })),
  { tool: "research", tokens: 9 },
  { tool: undefined, tokens: 1 },
];

it.each([
  ["Read", { tokens: 250, medianOf: 4 }],
  ["search", { tokens: 60, medianOf: 2 }],
  ["mcp__docs__search", { tokens: 60, medianOf: 2 }],
  ["Write", { unsized: "tool_not_used" }],
  ["", { unsized: "tool_not_used" }],
  ["undefined", { unsized: "tool_not_used" }],
])("a result of %s is as large as the median of those so far", (tool, size) => {
  expect(sizeOfTool(tool, { results })).toEqual(size);
});

it("has no size where nothing shows results", () => {
  expect(sizeOfTool("Read", undefined)).toEqual({ unsized: "no_contents" });
});
