import type { Spending, SpendingDay } from "@plimsoll/protocol/api";
import { NONE, plural } from "../format.ts";

export const totalOf = ({ cost_usd, estimated_cost_usd }: SpendingDay): number =>
  cost_usd + estimated_cost_usd;

export const isOverBudget = (day: SpendingDay, budget: number | null): boolean =>
  budget !== null && totalOf(day) > budget;

/** US dollars in whole cents, so that the amounts of a column align. */
export function cents(usd: number): string {
  if (usd > 0 && usd < 0.01) return "<$0.01";
  return `$${usd.toLocaleString("en-US", { minimumFractionDigits: 2, maximumFractionDigits: 2 })}`;
}

/** The cost of a day or of several; `~` stands before one that is partly estimated. */
const spentText = (usd: number, estimated: number): string => `${estimated > 0 ? "~" : ""}${cents(usd)}`;

/** Such as "~$2.00"; `—` if no turn of the day has a price. */
export const dayText = (day: SpendingDay): string =>
  day.turns > 0 && day.turns === day.unpriced_turns ? NONE : spentText(totalOf(day), day.estimated_cost_usd);

/** From the first day with a turn on; those before it say nothing. */
export function daysWithTurns(days: readonly SpendingDay[]): readonly SpendingDay[] {
  const first = days.findIndex(({ turns }) => turns > 0);
  return first === -1 ? [] : days.slice(first);
}

/** Such as "$123.40 in 7 days · $31.00 of it estimated at list prices · 2 days over the budget of $20.00". */
export function spendingText({ days: whole, budget_usd }: Spending): string {
  const days = daysWithTurns(whole);
  const sum = (value: (day: SpendingDay) => number) => days.reduce((total, day) => total + value(day), 0);
  const [usd, estimated] = [sum(totalOf), sum((day) => day.estimated_cost_usd)];
  const unpriced = sum((day) => day.unpriced_turns);
  if (days.length === 0) return "No turns in this range";
  if (days.every((day) => day.turns === day.unpriced_turns))
    return `${plural(unpriced, "turn")} without a price in ${plural(days.length, "day")}`;
  const over = days.filter((day) => isOverBudget(day, budget_usd)).length;
  return [
    `${spentText(usd, estimated)} in ${plural(days.length, "day")}`,
    estimated > 0 && `${cents(estimated)} of it estimated at list prices`,
    budget_usd !== null &&
      `${over === 0 ? "no day" : plural(over, "day")} over the budget of ${cents(budget_usd)}`,
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
