import { expect, test } from "vitest";
import { outcomeText } from "./outcome-text.ts";

test.each([
  ["turn", 1, "turn stored"],
  ["turn", 0, "turns stored"],
  ["turn", 1_200, "turns stored"],
  ["mark", 1, "boundary or other event stored"],
  ["invalid_json", 1, "rejected: invalid JSON"],
  ["invalid_json", 2, "rejected: invalid JSON"],
  ["some_new_outcome", 2, "some new outcome"],
])("the label of %s events, %d of them, is %s", (outcome, count, label) => {
  expect(outcomeText(outcome, count)).toBe(label);
});
