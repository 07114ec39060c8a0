import { BIN_WIDTH } from "@plimsoll/fold";
import { DEFAULT_AGENT } from "@plimsoll/protocol/events";
import type { AgentRow } from "../../db/tables/agents.ts";
import { slotOf } from "../../db/tables/buckets.ts";
import type { SessionRow } from "../../db/tables/sessions.ts";
import type { ArrivedSession } from "./group-events.ts";
import { mergeOrigins, NO_ORIGIN, type SessionOrigin } from "./session-origin.ts";

/** What decides which agent stands for a session. */
export type MainRank = Pick<AgentRow, "id" | "name" | "parent" | "firstAt">;

/** A session as the projector remembers it. */
export interface KnownSession {
  row: SessionRow;
  main: MainRank | undefined;
  /** Epoch ms; undefined while nothing said that it ended. */
  endedAt: number | undefined;
}

/** Why a session has to be summed over all its agents, instead of adding the difference. */
export type SumReason = "agents_without_session" | "peak_lowered" | "main_agent_demoted" | "refolded";

export interface SessionPlan {
  before: SessionRow | undefined;
  after: KnownSession;
  sum: SumReason | undefined;
}

/** An agent of the session, before and after a batch. */
export interface AgentChange {
  before: AgentRow | undefined;
  after: AgentRow;
  refolded: boolean;
}

/** Adds what a batch changed in a session's agents. */
export function planSession(
  session: Pick<ArrivedSession, "id" | "harness" | "name">,
  known: KnownSession | undefined,
  changes: readonly AgentChange[],
  origin?: SessionOrigin,
): SessionPlan {
  const row = known === undefined ? emptySession(session) : { ...known.row, version: known.row.version + 1 };
  let main = known?.main;
  let sum: SumReason | undefined;
  if (known === undefined && changes.some(({ before }) => before !== undefined))
    sum = "agents_without_session";
  for (const { before, after, refolded } of changes) {
    if (refolded) sum ??= "refolded";
    if (isLower(after, before)) sum ??= "peak_lowered";
    if (before === undefined) row.agents += 1;
    for (const field of SUMMED) row[field] += after[field] - (before?.[field] ?? 0);
    row.firstAt = Math.min(row.firstAt, after.firstAt);
    row.lastAt = Math.max(row.lastAt, after.lastAt);
    row.lastReceivedAt = Math.max(row.lastReceivedAt, after.lastReceivedAt);
    row.firstReceivedAt = Math.min(row.firstReceivedAt, after.firstReceivedAt);
    row.peakTokens = maximum(row.peakTokens, after.peakTokens);
    row.peakUtilization = maximum(row.peakUtilization, after.peakUtilization);
    if (main?.id === after.id) {
      if (compareRank(after, main) > 0) sum ??= "main_agent_demoted";
      main = after;
      showMain(row, after);
    } else if (main === undefined || compareRank(after, main) < 0) {
      main = after;
      showMain(row, after);
    }
  }
  if (origin !== undefined) Object.assign(row, mergeOrigins(row, origin));
  const endedAt = known?.endedAt;
  return { before: known?.row, after: { row: withSlots(row, endedAt), main, endedAt }, sum };
}

const SUMMED = [
  "turns",
  "windows",
  "masked",
  "compacted",
  "subticks",
  "restarts",
  "cleared",
  "unexplained",
  "reclaimed",
  "warnings",
  "promptTokens",
  "cachedTokens",
  "estimatedTokens",
  "costMicros",
  "costTurns",
  "estimatedCostMicros",
  "estimatedCostTurns",
] as const satisfies readonly (keyof AgentRow & keyof SessionRow)[];

type MutableSession = { -readonly [Field in keyof SessionRow]: SessionRow[Field] };

function emptySession({
  id,
  harness,
  name,
}: Pick<ArrivedSession, "id" | "harness" | "name">): MutableSession {
  return {
    id,
    version: 1,
    harness,
    name,
    firstAt: Number.POSITIVE_INFINITY,
    lastAt: Number.NEGATIVE_INFINITY,
    lastReceivedAt: Number.NEGATIVE_INFINITY,
    firstReceivedAt: Number.POSITIVE_INFINITY,
    agents: 0,
    turns: 0,
    windows: 0,
    masked: 0,
    compacted: 0,
    subticks: 0,
    restarts: 0,
    cleared: 0,
    unexplained: 0,
    reclaimed: 0,
    warnings: 0,
    promptTokens: 0,
    cachedTokens: 0,
    estimatedTokens: 0,
    costMicros: 0,
    costTurns: 0,
    estimatedCostMicros: 0,
    estimatedCostTurns: 0,
    mainAgent: undefined,
    model: undefined,
    currentTokens: undefined,
    currentWindow: undefined,
    load: undefined,
    peakTokens: undefined,
    peakUtilization: undefined,
    firstSlot: 0,
    lastSlot: 0,
    openSlot: 0,
    peakBin: -1,
    warned: false,
    ...NO_ORIGIN,
  };
}

/** `main` before others, then agents without a parent, then the earlier. Negative if `a` comes first. */
export function compareRank(a: MainRank, b: MainRank): number {
  return (
    Number(b.name === DEFAULT_AGENT) - Number(a.name === DEFAULT_AGENT) ||
    Number(b.parent === undefined) - Number(a.parent === undefined) ||
    a.firstAt - b.firstAt ||
    (a.id < b.id ? -1 : a.id > b.id ? 1 : 0)
  );
}

function showMain(row: MutableSession, { id, model, currentTokens, currentWindow, load }: AgentRow): void {
  row.mainAgent = id;
  row.model = model;
  row.currentTokens = currentTokens;
  row.currentWindow = currentWindow;
  row.load = load;
}

/** Fills in the coarse columns, which are the only ones that are indexed. */
function withSlots(row: MutableSession, endedAt: number | undefined): SessionRow {
  const ended = endedAt !== undefined && endedAt >= row.lastAt;
  return {
    ...row,
    firstSlot: slotOf(row.firstAt),
    lastSlot: slotOf(row.lastAt),
    openSlot: ended ? -1 : slotOf(row.lastReceivedAt),
    peakBin: peakBin(row.peakUtilization),
    warned: row.warnings > 0,
  };
}

/** The database keeps four-byte floats, so the bin is that of the rounded value. */
function peakBin(utilization: number | undefined): number {
  if (utilization === undefined) return -1;
  return Math.min(Math.floor(Math.fround(utilization) / BIN_WIDTH), 32_767);
}

/** A peak that is not known any more is lower than one of nothing. */
function isLower(after: AgentRow, before: AgentRow | undefined): boolean {
  const lost = (field: "peakTokens" | "peakUtilization") => (before?.[field] ?? -1) > (after[field] ?? -1);
  return lost("peakTokens") || lost("peakUtilization");
}

function maximum(a: number | undefined, b: number | undefined): number | undefined {
  if (a === undefined || b === undefined) return a ?? b;
  return Math.max(a, b);
}
