import { LARGEST, type ToolOutcome } from "@plimsoll/protocol/pure";

/** A turn that may have asked for tool calls. */
export interface AskingTurn {
  /** When its call of the model began, as far as that is known. Epoch ms. */
  beganAt: number;
  /** Identifies it among the turns of its agent. */
  mark: number;
}

/** The end of a tool call. */
export interface EndedCall {
  /** Epoch ms. */
  at: number;
  /** The mark of the turn that asked for it, if that was told. */
  resultOf: number | undefined;
  outcome: ToolOutcome;
}

/**
 * Adds up what came of the calls of each turn, by the index of the turn. A call whose turn was told belongs to that one, and counts
 * nowhere while it is missing. Any other call belongs to the latest turn that had begun: an agent asks its model again only once all
 * of its tools are done, and a tool may be done before the answer that asked for it is complete. The result does not depend on the
 * order of either list.
 */
export function outcomesOfResults(
  turns: readonly AskingTurn[],
  ended: readonly EndedCall[],
): Map<number, ToolOutcome> {
  const sums = new Map<number, Record<CountOfResults, number>>();
  if (ended.length === 0) return sums;
  const byMark = new Map(turns.map(({ mark }, index) => [mark, index]));
  const byTime = [...turns.entries()].sort(([, a], [, b]) => a.beganAt - b.beganAt || a.mark - b.mark);
  for (const { at, resultOf, outcome } of ended) {
    const index = resultOf === undefined ? latestBegun(byTime, at) : byMark.get(resultOf);
    if (index === undefined) continue;
    const sum = sums.get(index) ?? { calls: 0, failed: 0, rejected: 0 };
    sums.set(index, sum);
    const { calls = 0, failed = 0, rejected = 0 } = outcome;
    sum.calls = upTo(sum.calls + calls);
    // A call that a person stopped may also report that it failed.
    sum.failed = upTo(sum.failed + (rejected > 0 ? 0 : failed));
    sum.rejected = upTo(sum.rejected + rejected);
  }
  return sums;
}

type CountOfResults = "calls" | "failed" | "rejected";

const upTo = (count: number) => Math.min(count, LARGEST.outcome);

function latestBegun(byTime: readonly (readonly [number, AskingTurn])[], at: number): number | undefined {
  let [low, high] = [0, byTime.length];
  while (low < high) {
    const middle = (low + high) >> 1;
    if (byTime[middle]![1].beganAt > at) high = middle;
    else low = middle + 1;
  }
  return byTime[low - 1]?.[0];
}
