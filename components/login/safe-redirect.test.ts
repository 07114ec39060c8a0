import { expect, test } from "vitest";
import { safeRedirect } from "./safe-redirect.ts";

test.each([
  ["/sessions?q=a", "/sessions?q=a"],
  [null, "/"],
  ["", "/"],
  ["//evil.example", "/"],
  ["/\\evil.example", "/"],
  ["/\t/evil.example", "/"],
  ["https://evil.example", "/"],
  ["javascript:alert(1)", "/"],
])("safeRedirect(%s) is %s", (next, path) => {
  expect(safeRedirect(next)).toBe(path);
});
