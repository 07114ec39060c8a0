import { expect, test } from "vitest";
import { requestedPath } from "./requested-page.ts";

const NOW = Date.UTC(2026, 10, 21);
const said = (path: unknown, ago: number) => JSON.stringify({ path, at: NOW - ago });

test.each([
  ["a view", said("/sessions?q=a", 60_000), "/sessions?q=a"],
  ["one asked for too long ago", said("/sessions?q=a", 3_600_000), "/"],
  ["one from a clock far ahead", said("/sessions?q=a", -3_600_000), "/"],
  ["another site", said("//evil.example", 0), "/"],
  ["no text", said(7, 0), "/"],
  ["no time", '{"path":"/sessions"}', "/"],
  ["nothing", null, "/"],
  ["something else", "{", "/"],
])("%s", (_, remembered, path) => {
  expect(requestedPath(remembered, NOW)).toBe(path);
});
