import type { BeforeAfter } from "@plimsoll/protocol/api";
import { expect, test } from "vitest";
import { beforeAfterText } from "./before-after-text.ts";

const sample = (more: Partial<BeforeAfter["before"]> = {}): BeforeAfter["before"] => ({
  turns: 400,
  sessions: 9,
  falls: 20,
  restarts: 3,
  p95_utilization: 0.5,
  ...more,
});
const text = (before: Partial<BeforeAfter["before"]>, after: Partial<BeforeAfter["before"]>) =>
  beforeAfterText({
    at: "2026-11-24T10:20:00Z",
    length_ms: 7_200_000,
    before: sample(before),
    after: sample(after),
  });

test.each([
  [
    "fewer falls by turn",
    {},
    { turns: 800, falls: 28, restarts: 1, p95_utilization: 0.42 },
    "falls −30% per turn, restarts −2, p95 −8 points",
  ],
  [
    "more of everything",
    { falls: 1 },
    { falls: 30, restarts: 4, p95_utilization: 0.51 },
    "falls +2,900% per turn, restarts +1, p95 +1 point",
  ],
  ["no change", {}, {}, "falls ±0 per turn, restarts ±0, p95 ±0 points"],
  ["no falls before", { falls: 0 }, { falls: 2 }, "falls from none to 2, restarts ±0, p95 ±0 points"],
  ["no falls", { falls: 0 }, { falls: 0 }, "no falls, restarts ±0, p95 ±0 points"],
  ["no known window", { p95_utilization: null }, {}, "falls ±0 per turn, restarts ±0"],
  ["no turns before", { turns: 0 }, {}, "nothing to compare: no turns before"],
  ["no turns after", {}, { turns: 0 }, "nothing to compare: no turns after"],
])("%s", (_, before, after, change) => {
  expect(text(before, after).change).toBe(change);
});

test("the sample says how long and how many, and if that is few", () => {
  expect(text({}, { turns: 380 }).sample).toBe("2 h 0 min before and after: 400 turns and 380 turns");
  expect(text({}, { turns: 1 }).sample).toBe("2 h 0 min before and after: 400 turns and 1 turn, few turns");
});
