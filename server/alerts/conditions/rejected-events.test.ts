import { expect, it } from "vitest";
import { hourlyCount, nextSamples, type RejectedSample } from "./rejected-events.ts";

const MINUTE = 60_000;

it("counts what was rejected in the last hour, and nothing from before the first sample", () => {
  let samples: readonly RejectedSample[] = [];
  const counts: number[] = [];
  for (let minute = 0; minute <= 120; minute += 0.5) {
    // A hundred before, then two a minute.
    const total = 100 + 2 * Math.floor(minute);
    samples = nextSamples(samples, total, minute * MINUTE);
    if (minute % 30 === 0) counts.push(hourlyCount(samples, total, minute * MINUTE));
  }
  expect(counts).toEqual([0, 60, 120, 120, 120]);
  expect(samples.length).toBeLessThanOrEqual(62);
});

it("begins again after a restore and after a clock that was set back", () => {
  expect(nextSamples([[0, 50]], 10, MINUTE)).toEqual([[MINUTE, 10]]);
  expect(nextSamples([[9 * MINUTE, 5]], 10, MINUTE)).toEqual([[MINUTE, 10]]);
});
