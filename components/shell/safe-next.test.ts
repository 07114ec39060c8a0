import { expect, test } from "vitest";
import { safeNext } from "./safe-next.ts";

test.each([
  ["/sessions?q=a", "/sessions?q=a"],
  [null, "/"],
  ["", "/"],
  ["//evil.example", "/"],
  ["/\\evil.example", "/"],
  ["/\t/evil.example", "/"],
  ["https://evil.example", "/"],
  ["javascript:alert(1)", "/"],
])("safeNext(%s) is %s", (next, path) => {
  expect(safeNext(next)).toBe(path);
});
