import {
  type CacheRebuild,
  hourWrite,
  isExplained,
  listPrice,
  type NormalisedUsage,
  ownReport,
  type TurnCache,
  type TurnFacts,
  type TurnReading,
  utilizationOf,
  witnessMask,
} from "@plimsoll/fold";
import { COMPOSITION_PARTS, type Composition, type Usage } from "@plimsoll/protocol/events";
import {
  COMPACTION_BIT,
  packFacets,
  packOutcome,
  packRebuild,
  REPEAT_BIT,
  TOOL_RESULT_BIT,
  unpackFacets,
  unpackOutcome,
  unpackRebuild,
} from "./codes.ts";

/** One inference call, as it is packed into a block (see turn-blocks.ts). Times in epoch ms. */
export interface TurnRow {
  /** `agents.number`. */
  agent: number;
  /** The first 8 bytes of the sha256 of the sender's id, as a signed decimal. */
  key: string;
  at: number;
  /** Seconds from `at` to receipt. */
  delay: number;
  modelId: number;
  windowIndex: number;
  windowTokens: number | undefined;
  contextTokens: number | undefined;
  inputTokens: number | undefined;
  cacheRead: number | undefined;
  cacheWrite: number | undefined;
  /** Of `cacheWrite`, what the provider keeps for an hour. */
  cacheWriteHour: number | undefined;
  outputTokens: number | undefined;
  reasoning: number | undefined;
  seq: number | undefined;
  sentWindow: number | undefined;
  sentLimit: number | undefined;
  durationMs: number | undefined;
  costMicros: number | undefined;
  /** Basis, source of the window size, estimate, compaction call; see codes.ts. */
  facets: number;
  composition: readonly (number | undefined)[] | undefined;
  /** Who reported the turn; undefined for the harness alone. */
  provenance: number | undefined;
  /** Window sizes by witness. Undefined unless there are several witnesses. */
  limitClaims: readonly (number | undefined)[] | undefined;
  /** Witnesses that reported the call under other ids, as a mask. What only they said can be told apart; see `ownReport`. */
  otherWitnesses: number | undefined;
  /** The cache that was rebuilt for the turn; see `packRebuild`. */
  rebuild: number | undefined;
  /** What came of its tool calls, and which of these counts are known; see `packOutcome`. */
  outcome: number | undefined;
  outcomeKnown: number | undefined;
  /** Of the end of a tool call: the turn that asked for it, by `turnMark`. */
  resultOf: number | undefined;
  /** Of the end of a tool call: the tool, by `toolMark`. */
  tool: number | undefined;
}

/** A turn of which nothing else is known. It has every field, so that all rows have the same shape in the engine. */
export function emptyTurn(agent: number, key: string): TurnRow {
  return {
    agent,
    key,
    at: 0,
    delay: 0,
    modelId: 0,
    windowIndex: 0,
    windowTokens: undefined,
    contextTokens: undefined,
    inputTokens: undefined,
    cacheRead: undefined,
    cacheWrite: undefined,
    cacheWriteHour: undefined,
    outputTokens: undefined,
    reasoning: undefined,
    seq: undefined,
    sentWindow: undefined,
    sentLimit: undefined,
    durationMs: undefined,
    costMicros: undefined,
    facets: 0,
    composition: undefined,
    provenance: undefined,
    limitClaims: undefined,
    otherWitnesses: undefined,
    rebuild: undefined,
    outcome: undefined,
    outcomeKnown: undefined,
    resultOf: undefined,
    tool: undefined,
  };
}

const MAX_DELAY = 2_147_483_647;

/** The number of a turn's model in its row; 0 for the end of a tool call, which has none. */
export const modelIdOf = ({ model, isToolResult }: TurnFacts, modelId: (name: string) => number) =>
  isToolResult ? 0 : modelId(model);

/** What surrounds the facts and the reading of a turn in its row. */
export interface TurnPlace {
  agent: number;
  modelId: number;
  /** Epoch ms. */
  receivedAt: number;
}

export function turnRow({ turn, report, ...reading }: TurnReading, place: TurnPlace): TurnRow {
  const { usage } = turn;
  const delay = Math.round((place.receivedAt - turn.at) / 1_000);
  return {
    agent: place.agent,
    key: turn.key,
    at: turn.at,
    delay: Math.max(-MAX_DELAY, Math.min(MAX_DELAY, delay)),
    modelId: place.modelId,
    windowIndex: reading.window,
    windowTokens: reading.windowTokens,
    contextTokens: reading.contextTokens,
    inputTokens: usage.input_tokens,
    cacheRead: usage.cache_read_tokens,
    cacheWrite: usage.cache_write_tokens,
    cacheWriteHour: usage.cache_write_1h_tokens,
    outputTokens: usage.output_tokens,
    reasoning: usage.reasoning_tokens,
    seq: turn.seq,
    sentWindow: turn.sentWindow,
    sentLimit: turn.sentLimit,
    durationMs: turn.durationMs,
    costMicros: costMicros(turn),
    facets: packFacets({
      basis: usage.basis,
      windowSource: reading.windowSource,
      estimated: turn.estimated,
      compaction: turn.compaction,
      compositionEstimated: turn.compositionEstimated,
      isRepeat: reading.isRepeat,
      isToolResult: turn.isToolResult,
      addedLife: usage.cache_write_1h_tokens !== report.usage.cache_write_1h_tokens,
    }),
    composition: turn.composition && COMPOSITION_PARTS.map((part) => turn.composition![part]),
    provenance: turn.provenance === 0 ? undefined : turn.provenance,
    limitClaims: turn.limitClaims,
    otherWitnesses:
      turn === report ? undefined : witnessMask(turn.provenance) & ~witnessMask(report.provenance),
    rebuild: reading.rebuild && packRebuild(reading.rebuild),
    ...packOutcome(turn.outcome),
    resultOf: turn.resultOf,
    tool: turn.tool,
  };
}

/** The counts of a row as they were sent. */
export const sentUsage = (row: TurnRow): Usage => ({
  input_tokens: row.inputTokens,
  cache_read_tokens: row.cacheRead,
  cache_write_tokens: row.cacheWrite,
  cache_write_1h_tokens: row.cacheWriteHour,
  output_tokens: row.outputTokens,
  reasoning_tokens: row.reasoning,
  basis: unpackFacets(row.facets).basis,
});

/** The call that a row stands for. */
export function turnFactsOf(row: TurnRow, modelName: (id: number) => string): TurnFacts {
  const { estimated, compaction, compositionEstimated, isToolResult } = unpackFacets(row.facets);
  return {
    key: row.key,
    at: row.at,
    model: isToolResult ? "" : modelName(row.modelId),
    usage: sentUsage(row),
    seq: row.seq,
    sentWindow: row.sentWindow,
    sentLimit: row.sentLimit,
    estimated,
    compaction,
    composition: compositionOf(row.composition),
    compositionEstimated,
    durationMs: row.durationMs,
    costUsd: row.costMicros === undefined ? undefined : row.costMicros / 1e6,
    outcome: unpackOutcome(row),
    isToolResult,
    resultOf: row.resultOf,
    tool: row.tool,
    provenance: row.provenance ?? 0,
    limitClaims: row.limitClaims,
  };
}

export function turnReadingOf(row: TurnRow, turn: TurnFacts): TurnReading {
  const { contextTokens, windowTokens } = row;
  const { windowSource, isRepeat, addedLife } = unpackFacets(row.facets);
  return {
    turn,
    report: ownReport(turn, row.otherWitnesses ?? 0, addedLife),
    isRepeat,
    window: row.windowIndex,
    contextTokens,
    windowTokens,
    windowSource,
    utilization: utilizationOf(contextTokens, windowTokens),
    rebuild: row.rebuild === undefined ? undefined : unpackRebuild(row.rebuild),
  };
}

/** Whether the turn's prompt stands for a level; the prompt of a compaction call does not. */
export function isLevel({ facets }: Pick<TurnRow, "facets">): boolean {
  return (facets & COMPACTION_BIT) === 0;
}

/** The turns that count, without those that report a call again. */
export function countedTurns(rows: readonly TurnRow[]): readonly TurnRow[] {
  const isRepeat = ({ facets }: TurnRow) => (facets & REPEAT_BIT) !== 0;
  return rows.some(isRepeat) ? rows.filter((row) => !isRepeat(row)) : rows;
}

/** The turns that count, and the ends of tool calls, each in their order. */
export function turnsAndResults(rows: readonly TurnRow[]): {
  turns: readonly TurnRow[];
  results: readonly TurnRow[];
} {
  return {
    turns: countedTurns(rows),
    results: rows.filter(({ facets }) => (facets & TOOL_RESULT_BIT) !== 0),
  };
}

/** The level a turn stands for, in tokens; undefined if its prompt was not counted or only compacted. */
export function levelOf(row: Pick<TurnRow, "facets" | "contextTokens">): number | undefined {
  return isLevel(row) ? row.contextTokens : undefined;
}

/** What rules compare of a turn's cache. */
export function cacheOf({
  cacheRead,
  contextTokens,
  rebuild,
}: Pick<TurnRow, "cacheRead" | "contextTokens" | "rebuild">): TurnCache {
  const { tokens, cause } = rebuild === undefined ? NO_REBUILD : unpackRebuild(rebuild);
  return {
    share: cacheRead === undefined || !contextTokens ? undefined : cacheRead / contextTokens,
    lost: isExplained(cause) ? 0 : tokens,
  };
}

const NO_REBUILD: CacheRebuild = { tokens: 0, cause: "unknown" };

/** Whether a fold read the turn the same way. */
export function sameReading(a: TurnReading, b: TurnReading): boolean {
  return (
    a.isRepeat === b.isRepeat &&
    a.window === b.window &&
    a.windowTokens === b.windowTokens &&
    a.windowSource === b.windowSource &&
    a.contextTokens === b.contextTokens &&
    a.rebuild?.cause === b.rebuild?.cause &&
    a.rebuild?.tokens === b.rebuild?.tokens
  );
}

export function costMicros(facts: Pick<TurnFacts, "costUsd">): number | undefined {
  return facts.costUsd === undefined ? undefined : Math.round(facts.costUsd * 1e6);
}

/** What a turn that states no cost costs at list prices; undefined for the others, and without a price. */
export function estimatedCostMicros(
  { costUsd, model, usage: sent }: Pick<TurnFacts, "costUsd" | "model" | "usage">,
  usage: NormalisedUsage,
): number | undefined {
  const usd = costUsd === undefined ? listPrice(model, usage, hourWrite(sent)) : undefined;
  return usd === undefined ? undefined : Math.round(usd * 1e6);
}

function compositionOf(parts: TurnRow["composition"]): Composition | undefined {
  if (parts === undefined || parts.length === 0) return undefined;
  return Object.fromEntries(
    COMPOSITION_PARTS.map((part, index) => [part, parts[index] ?? undefined]),
  ) as Composition;
}
