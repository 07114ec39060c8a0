import { expect, it } from "vitest";
import { growthOf, residentMib } from "./memory.ts";

const samples = (of: (second: number) => number) => Array.from({ length: 100 }, (_, second) => of(second));

it.each([
  ["a steady climb", (second: number) => 200 + 5 * second, true],
  ["a saw with a rising floor", (second: number) => 200 + 5 * second + (second % 10) * 8, true],
  ["a climb during warm-up", (second: number) => Math.min(600, 200 + 40 * second), false],
  ["a saw", (second: number) => 300 + (second % 20) * 30, false],
  ["a slow climb within the bound", (second: number) => 200 + second, false],
  ["a peak that passes", (second: number) => (second > 40 && second < 60 ? 1_500 : 300), false],
])("%s", (_, of, grows) => {
  expect(growthOf(samples(of)).grows).toBe(grows);
});

it("does not judge a run that is too short", () => {
  expect(growthOf([100, 400, 900]).grows).toBe(false);
});

it.runIf(process.platform === "linux")("reads the memory of a process", () => {
  expect(residentMib(process.pid)).toBeGreaterThan(20);
  expect(residentMib(2 ** 30)).toBeUndefined();
});
