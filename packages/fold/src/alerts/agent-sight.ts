import type { BoundaryType, FallHint, WindowSource } from "@plimsoll/protocol/events";
import type { Line, ThresholdName } from "@plimsoll/protocol/pure";

/** Milliseconds for which a single event, such as an unexplained fall, counts as present. */
export const EVENT_HOLDS_MS = 10 * 60_000;

/** Milliseconds between an event and its receipt beyond which it starts no alert: it is history. */
const MOST_LATE_MS = 15 * 60_000;

/** A boundary as conditions see it. Times in epoch ms. */
export interface SeenBoundary {
  id: string;
  type: BoundaryType;
  at: number;
  receivedAt: number;
  tokensBefore: number | undefined;
  tokensAfter: number | undefined;
  hint: FallHint | undefined;
  /** Of a restart, as its harness counts. */
  number: number | undefined;
}

/** What a turn had of its cache. */
export interface TurnCache {
  /** Cache reads ÷ context tokens; undefined if either is unknown. */
  share: number | undefined;
  /** Tokens cached again that neither a fall nor a pause explains. */
  lost: number;
}

/** Who acts at the line of an agent: its harness compacts, restarts or masks there, or nobody does. */
export type LineKeeper = "harness" | "nobody";

/** What is known of an agent. Times in epoch ms. */
export interface AgentSight {
  /** Of the latest turn that was counted. */
  at: number;
  receivedAt: number;
  window: number;
  contextTokens: number | undefined;
  windowTokens: number | undefined;
  windowSource: WindowSource;
  line: Line | undefined;
  lineKeeper: LineKeeper;
  /** Thresholds crossed upwards and not downwards since, as recorded. */
  above: readonly ThresholdName[];
  /** Levels since the last fall, oldest first. */
  recent: readonly number[];
  /** Median time between two turns; undefined if unknown. */
  msPerTurn: number | undefined;
  /** Newest first. */
  boundaries: readonly SeenBoundary[];
  /** Times of the latest turns, newest first; undefined if they were not read, because no boundary is new. */
  turnTimes: readonly number[] | undefined;
  /** Of the latest turns of the window, newest first. Empty if no rule needs them. */
  caches: readonly TurnCache[];
}

/** Whether a condition holds, and since which event. */
export interface Finding {
  holds: boolean;
  /** Event time, epoch ms. */
  at: number;
  /** When that event was received. */
  receivedAt: number;
}

/** What is found at the latest turn of an agent. */
export const atLevel = ({ at, receivedAt }: AgentSight, holds: boolean): Finding => ({
  holds,
  at,
  receivedAt,
});

/** What is found at a boundary. */
export const atBoundary = ({ at, receivedAt }: SeenBoundary, holds: boolean): Finding => ({
  holds,
  at,
  receivedAt,
});

/** Whether a boundary is still present: it was received a short time before `now`, in epoch ms. */
export const isRecent = ({ receivedAt }: SeenBoundary, now: number): boolean =>
  receivedAt > now - EVENT_HOLDS_MS;

/** Finds the newest recent boundary of a kind. */
export function findRecent(
  sight: AgentSight,
  now: number,
  isMeant: (boundary: SeenBoundary) => boolean,
): Finding {
  const one = sight.boundaries.find((boundary) => isRecent(boundary, now) && isMeant(boundary));
  return one === undefined ? atLevel(sight, false) : atBoundary(one, true);
}

/** Whether a finding may start an alert: what it is about has just happened. */
export const isNews = ({ at, receivedAt }: Pick<Finding, "at" | "receivedAt">): boolean =>
  receivedAt - at <= MOST_LATE_MS;

/** The number of turns after the newest boundary, as far as the levels tell. There may be more. */
export function leastTurnsAfterBoundary({
  at,
  recent,
  boundaries,
}: Pick<AgentSight, "at" | "recent" | "boundaries">): number {
  const newest = boundaries[0];
  // Until its next turn, the levels are those before the boundary. The first one after it may be at the same time.
  return newest !== undefined && at > newest.at ? Math.max(0, recent.length - 1) : 0;
}
