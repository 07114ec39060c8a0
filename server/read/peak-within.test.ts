import { expect, test } from "vitest";
import { peakWithin } from "./peak-within.ts";

test.each([
  ["no turns", [null, null, null], null],
  ["no level above 1", [0.8, null, null], 0.8],
  ["the sessions' peak in the same bin, below its middle", [null, 0.8375, 0.826], 0.826],
  ["the sessions' peak in the same bin, above its middle", [null, 0.8375, 0.846], 0.846],
  ["a higher peak of a session without a level above 1", [0.9, 0.8375, 0.826], 0.9],
  ["a peak of a session that began before the span", [null, 0.8375, 0.3], 0.8375],
  ["sessions that are gone", [null, 0.8375, null], 0.8375],
] as const)("the peak with %s", (_, [exactly, byBin, ofSessions], expected) => {
  expect(peakWithin(exactly, byBin, ofSessions)).toBe(expected);
});
