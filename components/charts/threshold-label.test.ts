import { expect, it } from "vitest";
import { thresholdLabel } from "./threshold-label.ts";

it.each([
  ["20%", "20%"],
  ["15%, at least 40000", "15%, ≥ 40k"],
  ["150000", "150k"],
  ["-33000", "33k free"],
])("a threshold written %s is drawn as %s", (label, drawn) => {
  expect(thresholdLabel({ label })).toBe(drawn);
});
