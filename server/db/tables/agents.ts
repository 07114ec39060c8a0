import type { BoundaryType } from "@plimsoll/protocol/events";
import { defineTable, type RowOf } from "./table.ts";

/** How often each thing happened to an agent, and what its turns took. `reclaimed` in tokens. */
export interface Tally {
  masked: number;
  compacted: number;
  subticks: number;
  restarts: number;
  cleared: number;
  unexplained: number;
  reclaimed: number;
  warnings: number;
  /** Tokens of all prompts. */
  promptTokens: number;
  /** Of these, what a cache had. */
  cachedTokens: number;
  /** Of these, what is an estimate. */
  estimatedTokens: number;
  costMicros: number;
  /** Turns that state a cost. */
  costTurns: number;
  /** At list prices, of the other turns. */
  estimatedCostMicros: number;
  /** Turns that state no cost and have a list price. */
  estimatedCostTurns: number;
}

export const EMPTY_TALLY: Tally = {
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
};

/** The column that counts a boundary type. */
export const TALLY_OF: Record<BoundaryType, keyof Tally> = {
  masked: "masked",
  compacted: "compacted",
  subtick: "subticks",
  restarted: "restarts",
  cleared: "cleared",
  unexplained: "unexplained",
};

/** What agents and sessions both count. */
export const COUNTED = {
  turns: "int4",
  windows: "int4",
  masked: "int4",
  compacted: "int4",
  subticks: "int4",
  restarts: "int4",
  cleared: "int4",
  unexplained: "int4",
  reclaimed: "int8",
  warnings: "int4",
  promptTokens: "int8",
  cachedTokens: "int8",
  estimatedTokens: "int8",
  costMicros: "int8",
  costTurns: "int4",
  estimatedCostMicros: "int8",
  estimatedCostTurns: "int4",
} as const;

export const agents = defineTable("agents", ["id"], {
  id: "uuid",
  /** Small and unique in the project, so that a turn stores four bytes instead of a uuid. */
  number: "int4",
  /** Counts writes: the projector updates a row only if the row is the one it remembers. */
  version: "int4",
  sessionId: "uuid",
  name: "text",
  /** See agent-address.ts. */
  ownSession: "uuid?",
  parent: "text?",
  model: "text?",
  firstAt: "time",
  lastAt: "time",
  lastReceivedAt: "time",
  firstReceivedAt: "time",
  ...COUNTED,
  currentTokens: "int4?",
  currentWindow: "int4?",
  windowSource: "int2",
  load: "float4?",
  peakTokens: "int4?",
  peakWindow: "int4?",
  peakUtilization: "float4?",
  peakAt: "time?",
  /** Why the latest call ended, and when; unset unless that is known. See latest-stop.ts. */
  stoppedAt: "time?",
  stopReason: "int2?",
  /** See packed-state.ts; NULL while nobody expects more events of the agent. */
  state: "text?",
  /** Indexed while true: finds idle agents without touching an index on every write. */
  hasState: "bool",
  /** Whether `agent_outcomes` is older than the row. Indexed while true, like `hasState`. */
  uncounted: "bool",
});

export type AgentRow = RowOf<typeof agents>;
