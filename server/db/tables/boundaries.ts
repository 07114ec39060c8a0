import type { BoundaryReading, FallFacts, InferredBoundary, MarkFacts } from "@plimsoll/fold";
import { LOSABLE_KINDS, type MarkEvent, SURVIVALS, type Survived } from "@plimsoll/protocol/events";
import { BOUNDARY_ORIGIN } from "./codes.ts";
import { defineTable, type RowOf } from "./table.ts";

/** Every mark: all that an agent or a harness reports besides turns, and the falls that Plimsoll inferred. */
export const boundaries = defineTable("boundaries", ["agentId", "id"], {
  agentId: "uuid",
  id: "text",
  /** Undefined for an event of a harness itself. */
  sessionId: "uuid?",
  type: "text",
  origin: "int2",
  at: "time",
  receivedAt: "time",
  windowIndex: "int4",
  sentWindow: "int4?",
  tokensBefore: "int4?",
  tokensAfter: "int4?",
  detail: "json",
  /** What is known of a fall; see `FallFacts`. */
  fall: "json?",
});

/** The order of marks of one session, for ORDER BY. Its agents may report with the same id at the same time. */
export const NEWEST_FIRST = 'b.at DESC, b.id COLLATE "C" DESC, b.agent_id DESC';

/**
 * Whether a `session` event `b` describes the session of its row. That of a sub-agent with a session of its own describes
 * that one. $1 is the project id.
 */
export const DESCRIBES_ITS_SESSION = `NOT EXISTS (
  SELECT 1 FROM agents o WHERE o.project_id = $1 AND o.id = b.agent_id AND o.own_session IS NOT NULL)`;

export type BoundaryRow = RowOf<typeof boundaries>;

/** What surrounds a mark in its row. `receivedAt` in epoch ms. */
export interface MarkPlace {
  agentId: string;
  sessionId: string | undefined;
  receivedAt: number;
}

const ENVELOPE = new Set([
  "id",
  "type",
  "at",
  "harness",
  "session",
  "agent",
  "parent_agent",
  "own_session",
  "window",
  "machine",
  "repository",
  "branch",
  "person",
]);

/** The fields of an event beyond its envelope; of a harness' own, also who sent it, which no other row keeps. */
export function detailOf(event: MarkEvent): Record<string, unknown> {
  const isKept = (field: string) => !ENVELOPE.has(field) || (field === "person" && event.type === "harness");
  return Object.fromEntries(
    Object.entries(event).filter(([field, value]) => isKept(field) && value !== undefined),
  );
}

/** A mark as it was reported: what a row keeps of an event. */
export interface ReportedMark {
  facts: MarkFacts;
  detail: Record<string, unknown>;
}

/** Holds the type of an event that reads otherwise. */
const REPORTED_TYPE = "reported_type";

export function reportedRow(
  { facts, detail: reported }: ReportedMark,
  reading: BoundaryReading,
  place: MarkPlace,
): BoundaryRow {
  const detail = reading.type === facts.type ? reported : { ...reported, [REPORTED_TYPE]: facts.type };
  return rowOf(reading, place, { origin: BOUNDARY_ORIGIN.reported, sentWindow: facts.sentWindow, detail });
}

export function inferredRow(inferred: InferredBoundary, place: MarkPlace): BoundaryRow {
  const detail = inferred.hint === undefined ? {} : { hint: inferred.hint };
  return rowOf(inferred, place, { origin: BOUNDARY_ORIGIN.inferred, sentWindow: undefined, detail });
}

function rowOf(
  { id, type, at, window, tokensBefore, tokensAfter, fall }: BoundaryReading,
  place: MarkPlace,
  rest: Pick<BoundaryRow, "origin" | "sentWindow" | "detail">,
): BoundaryRow {
  return { ...place, id, type, at, windowIndex: window, tokensBefore, tokensAfter, fall, ...rest };
}

export function readingOfRow(row: BoundaryRow): BoundaryReading {
  const { id, type, at, windowIndex: window, tokensBefore, tokensAfter } = row;
  const fall = row.fall as FallFacts | undefined;
  return { id, type, at, window, tokensBefore, tokensAfter, ...(fall && { fall }) };
}

export function markOfRow(row: BoundaryRow): ReportedMark {
  const { [REPORTED_TYPE]: type = row.type, ...detail } = row.detail as Record<string, unknown>;
  return {
    detail,
    facts: {
      id: row.id,
      at: row.at,
      type: type as MarkFacts["type"],
      sentWindow: row.sentWindow,
      tokensBefore: detail.tokens_before as number | undefined,
      tokensAfter: detail.tokens_after as number | undefined,
      crossing:
        row.type === "threshold_crossed"
          ? {
              threshold: detail.threshold as string,
              up: detail.direction === "up",
              thresholdTokens: detail.threshold_tokens as number,
              contextTokens: detail.context_tokens as number,
            }
          : undefined,
      survived: detail.survived as Survived | undefined,
    },
  };
}

/**
 * Of two different marks with one id: the earlier, then the one that saw more of the recording, then the smaller text. The order of arrival does
 * not matter.
 */
export function preferredMark<Mark extends ReportedMark>(known: Mark, other: Mark): Mark {
  if (known.facts.at !== other.facts.at) return known.facts.at < other.facts.at ? known : other;
  const more = thingsIn(known.facts.survived) - thingsIn(other.facts.survived);
  if (more !== 0) return more > 0 ? known : other;
  return textOf(known) <= textOf(other) ? known : other;
}

const thingsIn = (survived: Survived | undefined) =>
  LOSABLE_KINDS.flatMap((kind) => SURVIVALS.map((one) => survived?.[kind]?.[one] ?? 0)).reduce(
    (sum, count) => sum + count,
    0,
  );

/** Whether two marks say the same. */
export function sameMark(a: ReportedMark, b: ReportedMark): boolean {
  return a.facts.at === b.facts.at && textOf(a) === textOf(b);
}

function textOf({ facts, detail }: ReportedMark): string {
  return JSON.stringify([facts.type, facts.sentWindow, sorted(detail)]);
}

/** PostgreSQL does not keep the order of keys. */
function sorted(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(sorted);
  if (typeof value !== "object" || value === null) return value;
  return Object.entries(value)
    .filter(([, member]) => member !== undefined)
    .sort(([a], [b]) => (a < b ? -1 : 1))
    .map(([name, member]) => [name, sorted(member)]);
}
