import { expect, test } from "vitest";
import { outcomeText } from "./outcome-text.ts";

test.each([
  ["turn", 1, "turn stored"],
  ["turn", 0, "turns stored"],
  ["turn", 1_200, "turns stored"],
  ["mark", 1, "boundary or other event stored"],
  ["invalid_json", 1, "rejected: invalid JSON"],
  ["invalid_json", 2, "rejected: invalid JSON"],
  ["in_the_future", 2, "rejected: time in the future"],
  ["overloaded", 2, "rejected: server overloaded"],
  ["database_unreachable", 2, "not stored: the database did not answer"],
  ["server_fault", 1, "not stored: a fault in the server, see its log"],
  ["some_new_outcome", 2, "some new outcome"],
])("the label of %s events, %d of them, is %s", (outcome, count, label) => {
  expect(outcomeText(outcome, count)).toBe(label);
});
