import { z } from "zod";
import { StatusQuery } from "./queries.ts";

/** Days of one answer: those of a longer range are its latest. */
export const MOST_SPENDING_DAYS = 92;

const isTimeZone = (name: string): boolean => {
  // An offset, which some engines take for a name, has no summer.
  if (!/^[A-Za-z]/.test(name)) return false;
  try {
    return new Intl.DateTimeFormat("en-US", { timeZone: name }) !== undefined;
  } catch {
    return false;
  }
};

export const SpendingQuery = StatusQuery.extend({
  /** IANA name of the zone whose days are meant. */
  time_zone: z
    .string()
    .max(64)
    .refine(isTimeZone, "write the name of a time zone, such as Europe/Berlin")
    .default("UTC"),
});
export type SpendingQuery = z.infer<typeof SpendingQuery>;

export const SpendingDay = z.object({
  /** Such as `2026-11-27`. */
  day: z.string(),
  /** What harnesses reported, in US dollars. */
  cost_usd: z.number(),
  /** What the other turns cost at the list prices of their models. */
  estimated_cost_usd: z.number(),
  turns: z.number().int(),
  /** Turns that state no cost and have no list price. */
  unpriced_turns: z.number().int(),
});
export type SpendingDay = z.infer<typeof SpendingDay>;

/** What turns cost by day. Every day is whole, also the first and the last of the range. */
export const Spending = z.object({
  time_zone: z.string(),
  /** Oldest first; days without a turn too. */
  days: z.array(SpendingDay),
  /** What the project wants to spend a day, in US dollars; null if nobody said. */
  budget_usd: z.number().nullable(),
});
export type Spending = z.infer<typeof Spending>;

/** US dollars a day; null for no budget. */
export const Budget = z.object({ usd: z.number().gt(0).max(1_000_000).nullable() });
export type Budget = z.infer<typeof Budget>;
