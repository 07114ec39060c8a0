import type { Spending, SpendingDay } from "@plimsoll/protocol/api";
import { money, plural } from "../format.ts";
import { costText } from "../words.ts";

export const totalOf = ({ cost_usd, estimated_cost_usd }: SpendingDay): number =>
  cost_usd + estimated_cost_usd;

export const isOverBudget = (day: SpendingDay, budget: number | null): boolean =>
  budget !== null && totalOf(day) > budget;

/** Such as "$123.40 in 7 days · $31.00 of it estimated at list prices · 2 days over the budget of $20.00". */
export function spendingText({ days, budget_usd }: Spending): string {
  const sum = (value: (day: SpendingDay) => number) => days.reduce((total, day) => total + value(day), 0);
  const [usd, estimated] = [sum(totalOf), sum((day) => day.estimated_cost_usd)];
  const unpriced = sum((day) => day.unpriced_turns);
  const over = days.filter((day) => isOverBudget(day, budget_usd)).length;
  return [
    `${costText(usd, estimated)} in ${plural(days.length, "day")}`,
    estimated > 0 && `${money(estimated)} of it estimated at list prices`,
    budget_usd !== null &&
      `${over === 0 ? "no day" : plural(over, "day")} over the budget of ${money(budget_usd)}`,
    unpriced > 0 && `${plural(unpriced, "turn")} without a price`,
  ]
    .filter(Boolean)
    .join(" · ");
}

/** "20", "$20" and "20.50" are dollars; an empty text is no budget. Undefined for anything else. */
export function parseBudget(text: string): number | null | undefined {
  const written = text.trim().replace(/^\$/, "").replaceAll(",", "");
  if (written === "") return null;
  if (!/^\d+(\.\d+)?$/.test(written)) return undefined;
  const usd = Number(written);
  return usd > 0 && usd <= 1_000_000 ? usd : undefined;
}
