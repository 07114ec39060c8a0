import { expect, it } from "vitest";
import { dayText, parseBudget, spendingText } from "./spending-words.ts";

const day = (cost_usd: number, estimated_cost_usd = 0, unpriced_turns = 0) => ({
  ...{ day: "2026-11-20", turns: 9, cost_usd, estimated_cost_usd, unpriced_turns },
});

const NO_TURNS = { ...day(0), turns: 0 };

it.each([
  [[day(1.5), day(0)], null, "$1.50 in 2 days"],
  [[day(1, 2.5)], null, "~$3.50 in 1 day · $2.50 of it estimated at list prices"],
  [
    [day(1), day(5), day(2, 4)],
    5,
    "~$12.00 in 3 days · $4.00 of it estimated at list prices · 1 day over the budget of $5.00",
  ],
  [[day(5)], 5, "$5.00 in 1 day · no day over the budget of $5.00"],
  [[day(0, 0, 1)], null, "$0.00 in 1 day · 1 turn without a price"],
  [[NO_TURNS, NO_TURNS, day(0.004), NO_TURNS], null, "<$0.01 in 2 days"],
  [[day(0, 0, 9), NO_TURNS], 5, "9 turns without a price in 2 days"],
  [[NO_TURNS], 5, "No turns in this range"],
  [[], null, "No turns in this range"],
  [[day(1_234_567.891)], null, "$1,234,567.89 in 1 day"],
])("%j with a budget of %j: %s", (days, budget_usd, text) => {
  expect(spendingText({ time_zone: "UTC", days, budget_usd })).toBe(text);
});

it.each([
  [day(0, 0, 9), "—"],
  [day(0, 0, 8), "$0.00"],
  [NO_TURNS, "$0.00"],
  [day(0.25, 0.125), "~$0.38"],
  [day(0, 0.000_001), "~<$0.01"],
])("a day of %j: %s", (one, text) => expect(dayText(one)).toBe(text));

it.each([
  ["20", 20],
  ["$20.50", 20.5],
  [" 1,000 ", 1_000],
  ["", null],
  ["0", undefined],
  ["-1", undefined],
  ["1e9", undefined],
  ["2000000", undefined],
  ["much", undefined],
])("a budget of %j is %j", (text, usd) => expect(parseBudget(text)).toBe(usd));
