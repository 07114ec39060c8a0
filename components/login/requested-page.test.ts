import { expect, test } from "vitest";
import { requestedPath } from "./requested-page.ts";

const NOW = Date.UTC(2026, 10, 21);
const entry = (path: unknown, ago: number) => JSON.stringify({ path, at: NOW - ago });

test.each([
  ["a recent path", entry("/sessions?q=a", 60_000), "/sessions?q=a"],
  ["an expired path", entry("/sessions?q=a", 3_600_000), "/"],
  ["a path from a clock far ahead", entry("/sessions?q=a", -3_600_000), "/"],
  ["another site", entry("//evil.example", 0), "/"],
  ["a path that is not a string", entry(7, 0), "/"],
  ["a path without a time", '{"path":"/sessions"}', "/"],
  ["nothing", null, "/"],
  ["invalid JSON", "{", "/"],
])("%s", (_, stored, path) => {
  expect(requestedPath(stored, NOW)).toBe(path);
});
