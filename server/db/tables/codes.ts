import type { CacheRebuild, ProvenBasis } from "@plimsoll/fold";
import {
  CROSSING_ORIGINS,
  type CrossingOrigin,
  LARGEST,
  OUTCOME_COUNTS,
  REBUILD_CAUSES,
  STOP_REASONS,
  type StopReason,
  type ToolOutcome,
  WINDOW_SOURCES,
  type WindowSource,
} from "@plimsoll/protocol/events";

/** Small numbers that stand for enums in the database. Their order is stored: append, never reorder. */
const BASES = ["unproven", "inclusive", "exclusive"] as const satisfies readonly ProvenBasis[];

export const sourceCode = (source: WindowSource) => WINDOW_SOURCES.indexOf(source);
export const sourceOf = (code: number): WindowSource => WINDOW_SOURCES[code] ?? "unknown";
export const crossingOriginCode = (origin: CrossingOrigin) => CROSSING_ORIGINS.indexOf(origin);
export const crossingOriginOf = (code: number): CrossingOrigin => CROSSING_ORIGINS[code] ?? "derived";
export const stopReasonCode = (reason: StopReason) => STOP_REASONS.indexOf(reason);
export const stopReasonOfCode = (code: number): StopReason => STOP_REASONS[code] ?? "end_turn";

const MOST_CAUSES = 16;

/** The cause and the tokens of a cache that was rebuilt, in one number. */
export const packRebuild = ({ cause, tokens }: CacheRebuild) =>
  tokens * MOST_CAUSES + REBUILD_CAUSES.indexOf(cause);
export const unpackRebuild = (code: number): CacheRebuild => ({
  cause: REBUILD_CAUSES[code % MOST_CAUSES] ?? "unknown",
  tokens: Math.floor(code / MOST_CAUSES),
});

/** The origin of a row of `boundaries`. */
export const BOUNDARY_ORIGIN = { reported: 0, inferred: 1 } as const;

/** What a turn's row says of its own figures. */
export interface Facets {
  basis: "inclusive" | "exclusive" | undefined;
  windowSource: WindowSource;
  estimated: boolean;
  /** Whether the call was made to compact the context: its prompt is not a level. */
  compaction: boolean;
  /** Whether the parts of the context were estimated from what was sent. */
  compositionEstimated: boolean;
  /** Whether the row counts nowhere: another turn stands for its call, or it is the end of a tool call. */
  isRepeat: boolean;
  isToolResult: boolean;
  /** Whether only another report of the call said how long the provider keeps what it wrote to a cache. */
  addedLife: boolean;
}

/** Bit of `facets` that marks a compaction call. */
export const COMPACTION_BIT = 32;

const COMPOSITION_ESTIMATED_BIT = 64;

/** Bit of `facets` that marks a turn that reports a call again. */
export const REPEAT_BIT = 128;

/** The source of the window has two bits at 4, and this one since there are more than four sources. */
const SOURCE_BIT = 256;

/** Bit of `facets` that marks the end of a tool call. Such a row has `REPEAT_BIT` too. */
export const TOOL_RESULT_BIT = 512;

const ADDED_LIFE_BIT = 1_024;

/** Small facts in one number: a column each would cost every turn eight bytes of padding. */
export function packFacets(facets: Facets): number {
  const { basis, windowSource, estimated, compaction, compositionEstimated } = facets;
  const { isRepeat, isToolResult, addedLife } = facets;
  return (
    (basis ? BASES.indexOf(basis) : 0) |
    ((sourceCode(windowSource) & 3) << 2) |
    (sourceCode(windowSource) > 3 ? SOURCE_BIT : 0) |
    (estimated ? 16 : 0) |
    (compaction ? COMPACTION_BIT : 0) |
    (compositionEstimated ? COMPOSITION_ESTIMATED_BIT : 0) |
    (isRepeat ? REPEAT_BIT : 0) |
    (isToolResult ? TOOL_RESULT_BIT : 0) |
    (addedLife ? ADDED_LIFE_BIT : 0)
  );
}

export function unpackFacets(code: number): Facets {
  return {
    basis: (code & 3) === 0 ? undefined : (BASES[code & 3] as Facets["basis"]),
    windowSource: sourceOf(((code >> 2) & 3) | ((code & SOURCE_BIT) === 0 ? 0 : 4)),
    estimated: (code & 16) !== 0,
    compaction: (code & COMPACTION_BIT) !== 0,
    compositionEstimated: (code & COMPOSITION_ESTIMATED_BIT) !== 0,
    isRepeat: (code & REPEAT_BIT) !== 0,
    isToolResult: (code & TOOL_RESULT_BIT) !== 0,
    addedLife: (code & ADDED_LIFE_BIT) !== 0,
  };
}

/** Origins of crossings that a harness reported. */
export const REPORTED_CROSSINGS: readonly number[] = CROSSING_ORIGINS.filter(
  (origin) => origin !== "derived",
).map(crossingOriginCode);

/** Values that a count of an outcome can have. */
const OUTCOMES = LARGEST.outcome + 1;

interface PackedOutcome {
  outcome: number | undefined;
  outcomeKnown: number | undefined;
}

/** The counts as one number, the first in its lowest bits, and a bit for each that is known. Most turns have the same known ones. */
export function packOutcome(outcome: ToolOutcome | undefined): PackedOutcome {
  if (outcome === undefined) return NO_OUTCOME;
  let [counts, known] = [0, 0];
  for (const [index, name] of OUTCOME_COUNTS.entries()) {
    const count = outcome[name];
    if (count === undefined) continue;
    known += 2 ** index;
    counts += count * OUTCOMES ** index;
  }
  return known === 0 ? NO_OUTCOME : { outcome: counts, outcomeKnown: known };
}

const NO_OUTCOME: PackedOutcome = { outcome: undefined, outcomeKnown: undefined };

export function unpackOutcome({ outcome, outcomeKnown: known }: PackedOutcome): ToolOutcome | undefined {
  if (outcome === undefined || known === undefined) return undefined;
  return Object.fromEntries(
    OUTCOME_COUNTS.flatMap((name, index) =>
      (known >> index) % 2 === 1 ? [[name, Math.floor(outcome / OUTCOMES ** index) % OUTCOMES]] : [],
    ),
  );
}
