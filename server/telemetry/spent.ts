import type { SessionChart } from "@plimsoll/protocol";
import type { TurnRow } from "../store/turns.ts";

type Spent = Pick<SessionChart["agents"][number], "cost" | "latency">;

/** What an agent's turns cost and how long they took, over the turns that say so. */
export function spentOf(turns: readonly { turn: Pick<TurnRow, "costMicros" | "durationMs"> }[]): Spent {
  const costs = turns.flatMap(({ turn }) => (turn.costMicros === undefined ? [] : [turn.costMicros]));
  const durations = turns
    .flatMap(({ turn }) => (turn.durationMs === undefined ? [] : [turn.durationMs]))
    .sort((a, b) => a - b);
  return {
    cost:
      costs.length === 0
        ? null
        : { usd: costs.reduce((sum, micros) => sum + micros, 0) / 1e6, turns: costs.length },
    latency:
      durations.length === 0
        ? null
        : {
            p50_ms: quantile(durations, 0.5),
            p95_ms: quantile(durations, 0.95),
            turns: durations.length,
          },
  };
}

/** The smallest value that at least this share of the values does not exceed. */
function quantile(sorted: readonly number[], share: number): number {
  return sorted[Math.max(0, Math.ceil(sorted.length * share) - 1)]!;
}
