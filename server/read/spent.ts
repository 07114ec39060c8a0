import type { SessionChart } from "@plimsoll/protocol/api";
import type { TurnRow } from "../db/tables/turns.ts";

type Spent = Pick<SessionChart["agents"][number], "cost" | "latency">;

/** What an agent's turns cost and how long they took, over the turns that say so. Keeps 8 bytes a turn. */
export class SpentSum {
  #micros = 0;
  #costs = 0;
  #durations = 0;
  /** Sorted part by part, because sorting the durations of a long history at once takes too long. */
  readonly #parts: Float64Array[] = [];

  add(turns: readonly Pick<TurnRow, "costMicros" | "durationMs">[]): void {
    const durations: number[] = [];
    for (const { costMicros, durationMs } of turns) {
      if (durationMs !== undefined) durations.push(durationMs);
      if (costMicros === undefined) continue;
      this.#micros += costMicros;
      this.#costs += 1;
    }
    this.#durations += durations.length;
    if (durations.length > 0) this.#parts.push(Float64Array.from(durations).sort());
  }

  total(): Spent {
    const turns = this.#durations;
    return {
      cost: this.#costs === 0 ? null : { usd: this.#micros / 1e6, turns: this.#costs },
      latency: turns === 0 ? null : { p50_ms: this.#quantile(0.5), p95_ms: this.#quantile(0.95), turns },
    };
  }

  /** The smallest value that at least this share of the values does not exceed. Halves the range of whole milliseconds. */
  #quantile(share: number): number {
    const wanted = Math.max(1, Math.ceil(this.#durations * share));
    let low = Math.min(...this.#parts.map((part) => part[0]!));
    let high = Math.max(...this.#parts.map((part) => part.at(-1)!));
    while (low < high) {
      const middle = Math.floor((low + high) / 2);
      const reached = this.#parts.reduce((sum, part) => sum + countUpTo(part, middle), 0);
      if (reached >= wanted) high = middle;
      else low = middle + 1;
    }
    return low;
  }
}

/** How many of the sorted values do not exceed one. */
function countUpTo(sorted: Float64Array, most: number): number {
  let low = 0;
  let high = sorted.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (sorted[middle]! <= most) low = middle + 1;
    else high = middle;
  }
  return low;
}
