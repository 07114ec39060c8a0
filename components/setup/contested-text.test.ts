import { expect, it } from "vitest";
import { contestedText } from "./contested-text.ts";

it("names what servers take from each other, and when they last did", () => {
  expect(contestedText([])).toBeUndefined();
  expect(contestedText([{ work: "projection", ago_ms: 1_200 }])).toBe(
    "Servers took over the processing of events from each other, the last time 1 second ago. Check whether a server restarts again and again, or lacks processor time.",
  );
  expect(
    contestedText([
      { work: "projection", ago_ms: 40_000 },
      { work: "alerts", ago_ms: 12_000 },
    ]),
  ).toMatch(
    /^Servers took over the processing of events and the evaluation of alert rules .* 12 seconds ago\./,
  );
});
