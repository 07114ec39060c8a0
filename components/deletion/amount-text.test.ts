import { expect, it } from "vitest";
import { amountText } from "./amount-text.ts";

it.each([
  [{ harnesses: 0, sessions: 1, turns: 1 }, "1 session and 1 turn"],
  [{ harnesses: 1, sessions: 12, turns: 3_400 }, "1 harness with 12 sessions and 3,400 turns"],
  [{ harnesses: 4, sessions: 0 }, "4 harnesses with 0 sessions"],
])("says how much is deleted: %j", (view, text) => {
  expect(amountText(view)).toBe(text);
});
