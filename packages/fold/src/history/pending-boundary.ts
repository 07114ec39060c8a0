import type { BoundaryReading, PendingBoundary } from "./agent-state.ts";
import type { MarkFacts } from "./mark.ts";

/** Reports of one compaction come within this time: a hook, a log record and a line of a transcript. */
const SAME_COMPACTION_MS = 10_000;
/** Events without a level after which a boundary or a report no longer waits for one: the history may be cut there. */
export const MOST_WAITED = 512;
/** Boundaries that wait one by one. Of more, only those stay that another report may repeat. */
const MOST_PENDING = 16;

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

/** What waits after one more boundary. Bounded, and soon independent of where the boundaries began. */
export function withPending(
  pending: readonly PendingBoundary[],
  boundary: PendingBoundary,
  waited: number,
): readonly PendingBoundary[] {
  if (waited < MOST_PENDING) return [...pending, boundary];
  const repeatable = pending.filter(
    ({ type, window, at }) =>
      type === "compacted" && window === boundary.window && boundary.at - at <= SAME_COMPACTION_MS,
  );
  return [...repeatable, boundary].slice(-MOST_PENDING);
}

/** The boundary with what another report of it says. */
export function joinReport(known: PendingBoundary, mark: MarkFacts): PendingBoundary {
  return {
    ...known,
    tokensBefore: mark.tokensBefore ?? known.tokensBefore,
    tokensAfter: mark.tokensAfter ?? known.tokensAfter,
    statesBefore: known.statesBefore || mark.tokensBefore !== undefined,
    survived: mark.survived ?? known.survived,
  };
}

/** The boundary as it is stored. */
export function settled({ statesBefore: _, survived: __, ...reading }: PendingBoundary): BoundaryReading {
  return reading;
}
