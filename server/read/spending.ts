import { MOST_SPENDING_DAYS, type Spending, type SpendingQuery } from "@plimsoll/protocol/api";
import { ALL, type Grain } from "../db/tables/buckets.ts";
import type { FreshReader } from "../lines/reader.ts";
import { spanOf } from "../times.ts";
import { localDays } from "./local-days.ts";

interface DayRow {
  /** Counted from 1. */
  day: number;
  reported: number;
  estimated: number;
  turns: number;
  unpriced: number;
}

/** The longest buckets that make up a day of any time zone. */
const GRAIN: Grain = 15;

/** What turns cost by day. */
export async function readSpending(
  { prisma, projectId }: FreshReader,
  { time_zone, harness, ...range }: SpendingQuery,
): Promise<Spending> {
  const days = localDays(spanOf(range), time_zone, MOST_SPENDING_DAYS);
  const [rows, project] = await Promise.all([
    prisma.$queryRaw<DayRow[]>`
      SELECT width_bucket(extract(epoch FROM bucket)::float8 * 1000, ${days.map(({ from }) => from)}::float8[]) AS day,
        sum(cost_micros)::float8 / 1e6 AS reported, sum(estimated_cost_micros)::float8 / 1e6 AS estimated,
        sum(turns)::float8 AS turns, sum(unpriced_turns)::float8 AS unpriced
      FROM rollups
      WHERE project_id = ${projectId} AND grain = ${GRAIN} AND harness = ${harness ?? ALL}
        AND bucket >= ${new Date(days[0]!.from)} AND bucket < ${new Date(days.at(-1)!.to)}
      GROUP BY 1`,
    prisma.project.findUnique({ where: { id: projectId }, select: { dailyBudgetUsd: true } }),
  ]);
  const byDay = new Map(rows.map((row) => [row.day, row]));
  return {
    time_zone,
    days: days.map(({ day }, index) => {
      const row = byDay.get(index + 1);
      return {
        day,
        cost_usd: row?.reported ?? 0,
        // An estimate of before a new price may be subtracted at the new one.
        estimated_cost_usd: Math.max(0, row?.estimated ?? 0),
        turns: row?.turns ?? 0,
        unpriced_turns: Math.max(0, row?.unpriced ?? 0),
      };
    }),
    budget_usd: project?.dailyBudgetUsd ?? null,
  };
}
