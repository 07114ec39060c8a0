import type { BoundaryReading, PendingBoundary } from "./agent-state.ts";
import type { MarkFacts } from "./mark.ts";

/** Reports of one compaction come within this time: a hook, a log record and a line of a transcript. */
const SAME_COMPACTION_MS = 10_000;

/** Whether a mark reports a compaction that waits for its level. Both may state numbers only if they are the same. */
export function isSameCompaction(known: PendingBoundary, mark: MarkFacts, window: number): boolean {
  return (
    mark.type === "compacted" &&
    known.type === "compacted" &&
    known.window === window &&
    mark.at - known.at <= SAME_COMPACTION_MS &&
    agree(known.statesBefore ? known.tokensBefore : undefined, mark.tokensBefore) &&
    agree(known.tokensAfter, mark.tokensAfter)
  );
}

const agree = (one: number | undefined, other: number | undefined) =>
  one === undefined || other === undefined || one === other;

/** The boundary with what another report of it says. */
export function joinReport(known: PendingBoundary, mark: MarkFacts): PendingBoundary {
  return {
    ...known,
    tokensBefore: mark.tokensBefore ?? known.tokensBefore,
    tokensAfter: mark.tokensAfter ?? known.tokensAfter,
    statesBefore: known.statesBefore || mark.tokensBefore !== undefined,
  };
}

/** The boundary as it is stored. */
export function settled({ statesBefore: _, ...reading }: PendingBoundary): BoundaryReading {
  return reading;
}
