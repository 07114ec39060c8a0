import { expect, it } from "vitest";
import { lengthText, riseText, stageText } from "./rollout-text.ts";

it.each([
  [{ share: 1, harnesses: [] }, "all harnesses"],
  [{ share: 0.1, harnesses: [] }, "10% of the harnesses"],
  [{ share: 0.125, harnesses: [] }, "12.5% of the harnesses"],
  [{ share: 0, harnesses: ["a@1"] }, "a@1"],
  [{ share: 0.1, harnesses: ["a@1", "b@1"] }, "10% of the harnesses and a@1 and b@1"],
  [{ share: 0, harnesses: ["a", "b", "c"] }, "3 named harnesses"],
])("names whom a stage reaches: %o", (stage, text) => {
  expect(stageText(stage)).toBe(text);
});

it.each([
  [60, "1 minute"],
  [600, "10 minutes"],
  [3_600, "1 hour"],
  [90, "90 seconds"],
  [172_800, "2 days"],
])("writes %d seconds as %s", (seconds, text) => {
  expect(lengthText(seconds)).toBe(text);
});

it("compares with the time before only if there was one", () => {
  const since = { events: 12, turns: 2_000 };
  expect(riseText("restart", { before: { events: 1, turns: 100 }, since })).toBe(
    "12 restarts in 2,000 turns, 1 in 100 before",
  );
  expect(riseText("crossing", { before: { events: 0, turns: 0 }, since: { events: 1, turns: 1 } })).toBe(
    "1 crossing in 1 turn",
  );
});
