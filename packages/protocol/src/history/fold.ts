import type {
  AgentState,
  BoundaryReading,
  InferredBoundary,
  TurnReading,
  WindowSummary,
} from "./agent-state.ts";
import { EMPTY_STATE } from "./agent-state.ts";
import type { Crossing, Level } from "./crossings.ts";
import { crossingsOf, firstLevelAfter, reconcileCrossings } from "./crossings.ts";
import type { DropHint, MarkFacts } from "./mark.ts";
import { isBoundary } from "./mark.ts";
import type { Thresholds } from "./thresholds.ts";
import type { Timeline } from "./timeline.ts";
import { arrange, comparePositions, compareText, positionOf } from "./timeline.ts";
import type { TurnFacts } from "./turn.ts";
import { larger, normaliseUsage } from "./usage.ts";
import type { WindowLookups } from "./window.ts";
import { resolveWindow, utilizationOf } from "./window.ts";

export interface FoldOptions {
  thresholds: Thresholds;
  lookups: WindowLookups;
}

/** What a run over some events added. Maps are by id, so that a later reading of the same thing replaces an earlier. */
export interface FoldResult {
  state: AgentState;
  turns: TurnReading[];
  marks: Map<string, BoundaryReading>;
  inferred: Map<string, InferredBoundary>;
  windows: Map<number, WindowSummary>;
  crossings: Crossing[];
}

const RECENT = 12;
/** Models of one agent whose reported window size is remembered; the rest must report it again. */
const REPORTED = 8;
/** A fall counts when it exceeds both: prompts vary a little from turn to turn for reasons that explain nothing. */
const DROP_SHARE = 0.1;
const DROP_TOKENS = 256;

/** Reads the whole history of one agent. The result depends on the set of events alone. */
export function foldAgent(
  turns: readonly TurnFacts[],
  marks: readonly MarkFacts[],
  options: FoldOptions,
): FoldResult {
  const result = run(EMPTY_STATE, arrange(turns, marks), options);
  const reports = marks.filter((mark) => mark.crossing !== undefined);
  if (reports.length > 0) {
    const levels = result.turns.flatMap(levelsOf);
    const lastReportAt = reports.reduce((last, report) => Math.max(last, report.at), reports[0]!.at);
    result.crossings = reconcileCrossings(result.crossings, reports, levels);
    result.state.reports = { openUntil: firstLevelAfter(lastReportAt, levels) };
  }
  return result;
}

/**
 * Continues from a state when every new event stands after all that the state has seen; undefined when one does not
 * and the agent's history must be read again. New turns and marks must not have been seen before.
 */
export function extendAgent(
  state: AgentState,
  turns: readonly TurnFacts[],
  marks: readonly MarkFacts[],
  options: FoldOptions,
): FoldResult | undefined {
  if (marks.some((mark) => mark.crossing !== undefined)) return undefined;
  if (!standsAfter(state, turns, marks)) return undefined;
  const timeline = arrange(turns, marks, state.numbering);
  // Items are sorted by window, so the first of a kind speaks for the rest.
  const firstTurn = timeline.items.find((item) => item.turn !== undefined);
  if (firstTurn?.turn !== undefined) {
    const position = positionOf(firstTurn.turn, firstTurn.window);
    if (state.tail !== undefined && comparePositions(position, state.tail) <= 0) return undefined;
    if (state.lastMark !== undefined && firstTurn.window < state.lastMark.window) return undefined;
  }
  const firstMark = timeline.items.find((item) => item.mark !== undefined);
  if (firstMark !== undefined) {
    if (state.tail !== undefined && firstMark.window < state.tail.window) return undefined;
    if (state.lastMark !== undefined && firstMark.window < state.lastMark.window) return undefined;
  }
  const result = run(state, timeline, options);
  return mayBeReported(state, result) ? undefined : result;
}

/** A report that came first may name a turn that comes now, or its crossing: only the whole history can join them. */
function mayBeReported({ reports }: AgentState, result: FoldResult): boolean {
  if (reports === undefined) return false;
  const { openUntil } = reports;
  return (
    result.crossings.length > 0 ||
    result.turns.flatMap(levelsOf).some((level) => openUntil === undefined || level.at <= openUntil)
  );
}

/** The level a turn stands for: none when it was not counted, or only compacted. */
function levelsOf(reading: TurnReading): Level[] {
  const { turn, contextTokens, windowTokens } = reading;
  if (contextTokens === undefined || turn.compaction) return [];
  return [{ turnKey: turn.key, at: turn.at, contextTokens, windowTokens }];
}

function standsAfter(state: AgentState, turns: readonly TurnFacts[], marks: readonly MarkFacts[]): boolean {
  const { lastMark, lastTurnAt } = state;
  const { anchor, countedAt } = state.numbering;
  for (const turn of turns) {
    if (lastMark !== undefined && turn.at <= lastMark.at) return false;
    const counted = turn.sentWindow === undefined;
    if (counted && anchor !== undefined && turn.at < anchor.at) return false;
    if (!counted && countedAt !== undefined && turn.at <= countedAt) return false;
  }
  for (const mark of marks) {
    if (lastTurnAt !== undefined && mark.at < lastTurnAt) return false;
    if (lastMark !== undefined && compareMarks(mark, lastMark) <= 0) return false;
  }
  return true;
}

function compareMarks(a: { at: number; id: string }, b: { at: number; id: string }): number {
  return a.at - b.at || compareText(a.id, b.id);
}

function run(from: AgentState, { items, numbering }: Timeline, options: FoldOptions): FoldResult {
  const result: FoldResult = {
    state: { ...from, numbering, recent: [...from.recent], pending: [...from.pending] },
    turns: [],
    marks: new Map(),
    inferred: new Map(),
    windows: new Map(),
    crossings: [],
  };
  for (const item of items) {
    if (item.turn !== undefined) readTurn(result, item.turn, item.window, options);
    else readMark(result, item.mark, item.window);
  }
  return result;
}

function readMark(result: FoldResult, mark: MarkFacts, window: number): void {
  const { state } = result;
  const latest =
    state.lastMark === undefined || compareMarks(mark, state.lastMark) > 0 ? mark : state.lastMark;
  state.lastMark = { window, at: latest.at, id: latest.id };
  const reading: BoundaryReading = {
    id: mark.id,
    type: mark.type,
    at: mark.at,
    window,
    tokensBefore: mark.tokensBefore,
    tokensAfter: mark.tokensAfter,
  };
  result.marks.set(mark.id, reading);
  if (!isBoundary(mark.type)) return;
  const previous = state.pending.at(-1);
  reading.tokensBefore ??= previous === undefined ? state.current : previous.tokensAfter;
  state.pending.push(reading);
}

function readTurn(result: FoldResult, turn: TurnFacts, window: number, options: FoldOptions): void {
  const { state } = result;
  const { contextTokens } = normaliseUsage(turn.usage);
  if (turn.sentLimit !== undefined) {
    const others = state.reported.filter((known) => known.model !== turn.model);
    state.reported = [...others, { model: turn.model, tokens: turn.sentLimit }].slice(-REPORTED);
  }
  const resolved = resolveWindow(
    {
      model: turn.model,
      reported: state.reported.find((known) => known.model === turn.model)?.tokens,
    },
    options.lookups,
  );
  const utilization = utilizationOf(contextTokens, resolved.tokens);
  result.turns.push({
    turn,
    window,
    contextTokens,
    windowTokens: resolved.tokens,
    windowSource: resolved.source,
    utilization,
  });

  const previousModel = state.model;
  state.tail = positionOf(turn, window);
  state.lastTurnAt = Math.max(state.lastTurnAt ?? turn.at, turn.at);
  state.turns += 1;
  if (turn.compaction) {
    // The model that compacts need not be the one that works: its window is not the agent's.
    touchWindow(result, turn, window, undefined, undefined, undefined);
    return;
  }
  state.model = turn.model;
  state.windowTokens = resolved.tokens;
  state.windowSource = resolved.source;
  touchWindow(result, turn, window, contextTokens, resolved.tokens, utilization);
  if (contextTokens === undefined) {
    state.uncounted += 1;
    return;
  }

  explainFall(result, turn, window, contextTokens, previousModel);
  state.current = contextTokens;
  state.currentWindow = window;
  state.currentAt = turn.at;
  state.currentEstimated = turn.estimated;
  state.uncounted = 0;
  if (state.peak === undefined || contextTokens > state.peak.tokens) {
    state.peak = { tokens: contextTokens, windowTokens: resolved.tokens, at: turn.at };
  }
  if (utilization !== undefined) state.peakUtilization = Math.max(state.peakUtilization ?? 0, utilization);

  const level = { turnKey: turn.key, at: turn.at, contextTokens, windowTokens: resolved.tokens };
  const crossed = crossingsOf(state.above, level, options.thresholds);
  state.above = crossed.above;
  result.crossings.push(...crossed.crossings);
}

/** Settles the boundaries that waited for this turn, or names a fall that none of them explains. */
function explainFall(
  result: FoldResult,
  turn: TurnFacts,
  window: number,
  contextTokens: number,
  previousModel: string | undefined,
): void {
  const { state } = result;
  const before = state.current;
  // An estimate is often a third off: beside a measured level it proves no fall.
  const comparable = turn.estimated === state.currentEstimated;
  const fell =
    before !== undefined && comparable && before - contextTokens > Math.max(DROP_TOKENS, before * DROP_SHARE);
  if (state.pending.length > 0) {
    const last = state.pending.at(-1)!;
    if (last.tokensAfter === undefined) result.marks.set(last.id, { ...last, tokensAfter: contextTokens });
    state.pending = [];
    state.recent = [contextTokens];
    return;
  }
  const moved = state.currentWindow !== undefined && state.currentWindow !== window;
  if (before !== undefined && (fell || moved)) {
    const id = `inferred/${turn.key}`;
    const hint = moved
      ? "window_moved"
      : hintOf(contextTokens, state.windowTokens, turn.model, previousModel);
    result.inferred.set(id, {
      id,
      type: moved ? "restarted" : "unexplained",
      at: turn.at,
      window: state.currentWindow ?? window,
      tokensBefore: before,
      tokensAfter: contextTokens,
      hint,
    });
    state.recent = [contextTokens];
    return;
  }
  // The list is this run's own.
  state.recent.push(contextTokens);
  if (state.recent.length > RECENT) state.recent.shift();
}

function hintOf(
  contextTokens: number,
  windowTokens: number | undefined,
  model: string,
  previousModel: string | undefined,
): DropHint | undefined {
  if (previousModel !== undefined && previousModel !== model) return "model_changed";
  // Ollama drops the oldest messages when the prompt outgrows its window and then reports half of it plus two.
  if (windowTokens !== undefined && Math.abs(contextTokens - (windowTokens / 2 + 2)) <= 2) {
    return "truncation_suspected";
  }
  return undefined;
}

function touchWindow(
  result: FoldResult,
  turn: TurnFacts,
  index: number,
  contextTokens: number | undefined,
  windowTokens: number | undefined,
  utilization: number | undefined,
): void {
  const { state } = result;
  const open = state.window?.index === index ? state.window : result.windows.get(index);
  if (open === undefined) state.windows += 1;
  const summary: WindowSummary = {
    index,
    firstAt: Math.min(open?.firstAt ?? turn.at, turn.at),
    lastAt: Math.max(open?.lastAt ?? turn.at, turn.at),
    turns: (open?.turns ?? 0) + 1,
    firstTokens: open?.firstTokens ?? contextTokens,
    lastTokens: contextTokens ?? open?.lastTokens,
    peakTokens: larger(open?.peakTokens, contextTokens),
    peakUtilization: larger(open?.peakUtilization, utilization),
    windowTokens: windowTokens ?? open?.windowTokens,
  };
  result.windows.set(index, summary);
  state.window = summary;
}
