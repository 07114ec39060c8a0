import { constantTimeline, thresholdTimeline } from "@plimsoll/fold";
import { expect, it } from "vitest";
import { commonSteps } from "./common-lines.ts";

const OFF = { warning: null, ceiling: null, soft: null, hard: null, reserve: null };
const version = (generation: number, at: number, ceiling: string) => ({
  generation,
  body: { settings: { thresholds: { ...OFF, ceiling } }, layers: [] },
  steps: [{ at, share: 1, harnesses: [] }],
});
const versions = [version(1, 1_000, "70%"), version(2, 5_000, "50%")];
const ceilings = (...given: Parameters<typeof commonSteps>) =>
  commonSteps(...given).map(({ at, thresholds }) => [Date.parse(at), thresholds.ceiling]);

it("has no steps while nothing changes in the range", () => {
  expect(commonSteps([constantTimeline(OFF)], { from: 0, to: 9_000 })).toEqual([]);
  expect(commonSteps([], { from: 0, to: 9_000 })).toEqual([]);
  expect(commonSteps([thresholdTimeline("mine@1", versions, [], {})], { from: 5_500, to: 9_000 })).toEqual(
    [],
  );
});

it("steps where what all have in common changes", () => {
  const timeline = thresholdTimeline("mine@1", versions, [], {});
  expect(ceilings([timeline], { from: 2_000, to: 9_000 })).toEqual([
    [2_000, "70%"],
    [5_000, "50%"],
  ]);
  // The other one applies the second version later.
  const ack = (generation: number, at: number) => ({
    id: `${generation}`,
    at,
    generation,
    status: "applied" as const,
  });
  const late = thresholdTimeline("mine@2", versions, [ack(1, 1_500), ack(2, 7_000)], {});
  expect(ceilings([timeline, late], { from: 2_000, to: 9_000 })).toEqual([
    [2_000, "70%"],
    [5_000, null],
    [7_000, "50%"],
  ]);
});
