import { expect, test } from "vitest";
import { periodChange } from "./period-change.ts";

test.each([
  [5, 3, { reason: "changed", before: 3, by: 2 }],
  [3, 5, { reason: "changed", before: 5, by: -2 }],
  [5, 5, { reason: "changed", before: 5, by: 0 }],
  [0, 5, { reason: "changed", before: 5, by: -5 }],
  // The previous period has data, and its figure is zero.
  [5, 0, { reason: "changed", before: 0, by: 5 }],
  [5, null, { reason: "no_trend" }],
  [0, 0, { reason: "nothing" }],
  [0, null, { reason: "nothing" }],
])("%s after %s", (now, before, change) => {
  expect(periodChange(now, before)).toEqual(change);
});

test("a difference below `same` counts as none", () => {
  expect(periodChange(0.2144, 0.2141, 0.0005)).toEqual({ reason: "changed", before: 0.2141, by: 0 });
});
