import type { BoundaryType, FallHint, ThresholdName } from "@plimsoll/protocol/pure";
import type { ThresholdTimeline } from "../lines/in-force.ts";
import {
  isWitnessed,
  type MatchedReports,
  matchReports,
  mayRepeat,
  REPEATED_TURN,
  withTrace,
} from "../witnesses/match-reports.ts";
import {
  type AgentState,
  type BoundaryReading,
  EMPTY_STATE,
  type InferredBoundary,
  type PendingBoundary,
  type Summary,
  type TurnReading,
  type WindowSummary,
} from "./agent-state.ts";
import { cachedAfter, cacheRebuild } from "./cache-rebuild.ts";
import {
  appendLevel,
  applyLevel,
  applyReport,
  type CrossingChanges,
  crossingsOf,
  type KnownLevel,
} from "./crossings.ts";
import { addSummaryCall, countLevel, type FallFacts } from "./fall.ts";
import { isBoundary, type MarkFacts, REPEATED, type ReportedCrossing } from "./mark.ts";
import { isSameCompaction, joinReport, MOST_WAITED, settled, withPending } from "./pending-boundary.ts";
import { isThreshold, judgedBy, rememberLine } from "./reported-lines.ts";
import { finish, type Steps } from "./steps.ts";
import { EMPTY_SUMMARY } from "./summary.ts";
import {
  arrange,
  comparePositions,
  compareText,
  type Item,
  positionOf,
  type Timeline,
  type TurnItem,
} from "./timeline.ts";
import type { TurnFacts } from "./turn.ts";
import { hourWrite, larger, contextTokens as promptTokens } from "./usage.ts";
import { type ResolvedWindow, resolveWindow, utilizationOf, type WindowLookups } from "./window.ts";

/** Events of one agent in any order. */
export interface AgentEvents {
  turns: readonly TurnFacts[];
  marks: readonly MarkFacts[];
}

export interface FoldOptions {
  /** Of the agent's harness. */
  thresholds: ThresholdTimeline;
  lookups: WindowLookups;
}

/**
 * What a run over some events produced. Maps are by id, so a later reading of the same thing replaces an earlier one.
 * `windows` of the summary, `marks`, `origins` and `withdrawn` may name things of an earlier run.
 */
export interface FoldResult extends CrossingChanges {
  state: AgentState;
  /** Of this run alone; `joinSummaries` adds it to the summary of the runs before. */
  summary: Summary;
  turns: TurnReading[];
  marks: Map<string, BoundaryReading>;
  inferred: Map<string, InferredBoundary>;
}

/** Events of one agent after which other work may get a turn. */
export const STEP_EVENTS = 512;

const RECENT = 12;
/** Models of one agent whose reported window size is remembered; the rest must report it again. */
const REPORTED = 8;
/** A fall counts when it exceeds both: prompts vary a little from turn to turn for reasons that explain nothing. */
const DROP_SHARE = 0.1;
const DROP_TOKENS = 256;

/** Folds the whole history of one agent. The result depends only on the set of events. */
export function foldAgent(
  turns: readonly TurnFacts[],
  marks: readonly MarkFacts[],
  options: FoldOptions,
): FoldResult {
  return finish(run(EMPTY_STATE, arrange(turns, marks), options));
}

/**
 * Continues from a state if every new event comes after everything the state has seen; otherwise returns undefined, and
 * the caller must fold again from an earlier state. The state must not have seen any of the events.
 */
export function extendAgent(
  state: AgentState,
  turns: readonly TurnFacts[],
  marks: readonly MarkFacts[],
  options: FoldOptions,
): FoldResult | undefined {
  const steps = extendInSteps(state, { turns, marks }, options);
  return steps && finish(steps);
}

/** As `extendAgent`, in steps of `STEP_EVENTS`. */
export function extendInSteps(
  state: AgentState,
  { turns, marks }: AgentEvents,
  options: FoldOptions,
): Steps<FoldResult> | undefined {
  if (!isAfter(state, turns, marks)) return undefined;
  const timeline = arrange(turns, marks, state.numbering);
  // Items are sorted by window, so the first of a kind speaks for the rest.
  const firstTurn = timeline.items.find((item) => item.turn !== undefined);
  if (firstTurn?.turn !== undefined) {
    const position = positionOf(firstTurn);
    if (state.tail !== undefined && comparePositions(position, state.tail) <= 0) return undefined;
    if (state.lastMark !== undefined && firstTurn.window < state.lastMark.window) return undefined;
  }
  const firstMark = timeline.items.find((item) => item.turn === undefined);
  if (firstMark !== undefined) {
    if (state.tail !== undefined && firstMark.window < state.tail.window) return undefined;
    if (state.lastMark !== undefined && firstMark.window < state.lastMark.window) return undefined;
  }
  if (!keepsSequence(state, timeline)) return undefined;
  return run(state, timeline, options);
}

/** Whether the new turns leave the places of earlier turns without a sequence number unchanged, and know their own. */
function keepsSequence(state: AgentState, { items }: Timeline): boolean {
  const { sequence } = state.numbering;
  if (sequence === undefined) return true;
  const { window, top, unnumberedAt } = sequence;
  return items.every(({ turn, window: own }) => {
    if (turn === undefined || own !== window) return true;
    if (turn.seq === undefined) return top === undefined || turn.at >= (state.lastTurnAt ?? turn.at);
    return unnumberedAt === undefined || turn.at > unnumberedAt;
  });
}

function isAfter(state: AgentState, turns: readonly TurnFacts[], marks: readonly MarkFacts[]): boolean {
  const { lastMark, lastTurnAt } = state;
  const { anchor, countedAt } = state.numbering;
  if (turns.some((turn) => mayRepeat(state.traces, lastTurnAt, turn))) return false;
  const comesLast = (mark: { at: number; id: string }) =>
    (lastTurnAt === undefined || mark.at >= lastTurnAt) &&
    (lastMark === undefined || compareMarks(mark, lastMark) > 0);
  for (const turn of turns) {
    if (turn.isToolResult) {
      if (!comesLast({ at: turn.at, id: turn.key })) return false;
      continue;
    }
    if (lastMark !== undefined && turn.at <= lastMark.at) return false;
    const counted = turn.sentWindow === undefined;
    if (counted && anchor !== undefined && turn.at < anchor.at) return false;
    if (!counted && countedAt !== undefined && turn.at <= countedAt) return false;
  }
  return marks.every(comesLast);
}

function compareMarks(a: { at: number; id: string }, b: { at: number; id: string }): number {
  return a.at - b.at || compareText(a.id, b.id);
}

function* run(from: AgentState, { items, numbering }: Timeline, options: FoldOptions): Steps<FoldResult> {
  const result: FoldRun = {
    // Arrays of this run alone, so that each turn can append to them.
    state: { ...from, numbering, recent: [...from.recent], levels: [...from.levels] },
    summary: { ...EMPTY_SUMMARY },
    turns: [],
    marks: new Map(),
    inferred: new Map(),
    crossings: new Map(),
    origins: new Map(),
    withdrawn: new Map(),
    windows: new Map(),
    size: undefined,
    isWitnessed: from.traces.length > 0 || items.some(({ turn }) => turn !== undefined && isWitnessed(turn)),
  };
  const matched = matchReports(items);
  for (let from = 0; from < items.length; from += STEP_EVENTS) {
    if (from > 0) yield;
    readItems(result, items, from, matched, options);
  }
  const { windows, size: _, isWitnessed: __, ...rest } = result;
  return { ...rest, summary: { ...rest.summary, windows: [...windows.values()] } };
}

/** Reads the items of one step. */
function readItems(
  result: FoldRun,
  items: readonly Item[],
  from: number,
  matched: MatchedReports | undefined,
  options: FoldOptions,
): void {
  const { state } = result;
  const to = Math.min(from + STEP_EVENTS, items.length);
  let last: TurnItem | undefined;
  for (let index = from; index < to; index++) {
    const item = items[index]!;
    if (item.mark !== undefined) readMark(result, item.mark, item.window, options);
    else if (item.result !== undefined) readToolResult(result, item.result, item.window);
    else {
      const call = matched?.get(item.turn) ?? item.turn;
      if (call === REPEATED_TURN) readRepeat(result, item);
      else readTurn(result, item, call, options);
      last = item;
    }
    // Only a mark begins to wait.
    if (item.turn === undefined || state.waited > 0) countWait(state);
  }
  if (last !== undefined) state.tail = positionOf(last);
}

/** A run under way. Items come by window, so `windows` is in order. */
interface FoldRun extends FoldResult {
  windows: Map<number, WindowSummary>;
  /** The window size of the last turn, and what it was resolved from: most turns have the same. */
  size:
    | { model: string; reported: number | undefined; isRefuted: boolean; resolved: ResolvedWindow }
    | undefined;
  /** Whether anyone but the harness counted a turn up to the end of the run. */
  isWitnessed: boolean;
  state: AgentState & { recent: number[]; levels: KnownLevel[] };
}

/** Counts an event while something waits for a level. Reports that waited too long stay with the level before them. */
function countWait(state: FoldRun["state"]): void {
  if (state.waited === 0 && state.pending.length === 0 && state.unmatched.length === 0) return;
  if (state.waited < MOST_WAITED) state.waited += 1;
  if (state.waited === MOST_WAITED && state.unmatched.length > 0) state.unmatched = [];
}

function readMark(result: FoldRun, mark: MarkFacts, window: number, options: FoldOptions): void {
  const { state, summary } = result;
  summary.marks += 1;
  rememberMark(state, mark, window);
  const reading: BoundaryReading = {
    id: mark.id,
    type: mark.type,
    at: mark.at,
    window,
    tokensBefore: mark.tokensBefore,
    tokensAfter: mark.tokensAfter,
  };
  result.marks.set(mark.id, reading);
  if (mark.crossing !== undefined) {
    Object.assign(state, applyReport(state, { ...mark.crossing, reportId: mark.id, at: mark.at }, result));
    readReport(state, mark.crossing, mark.at, options);
  }
  if (!isBoundary(mark.type)) return;
  const known = state.pending.find((one) => isSameCompaction(one, mark, window));
  if (known !== undefined) {
    reading.type = REPEATED;
    readRepeated(result, known, mark);
    return;
  }
  const previous = state.pending.at(-1);
  const statesBefore = reading.tokensBefore !== undefined;
  reading.tokensBefore ??= previous === undefined ? state.current : previous.tokensAfter;
  state.pending = withPending(
    state.pending,
    { ...reading, statesBefore, survived: mark.survived },
    state.waited,
  );
}

function rememberMark(state: FoldRun["state"], mark: { at: number; id: string }, window: number): void {
  const { lastMark } = state;
  const { at, id } = lastMark === undefined || compareMarks(mark, lastMark) > 0 ? mark : lastMark;
  state.lastMark = { window, at, id };
}

/** Reads the end of a tool call. Only the order of later events depends on it, so it counts as a mark. */
function readToolResult({ state, summary, turns }: FoldRun, result: TurnFacts, window: number): void {
  summary.marks += 1;
  rememberMark(state, { at: result.at, id: result.key }, window);
  turns.push(uncountedReading(result, window));
}

/** How a report reads that counts nowhere. */
function uncountedReading(report: TurnFacts, window: number): TurnReading {
  return {
    turn: report,
    report,
    isRepeat: true,
    window,
    contextTokens: promptTokens(report.usage),
    windowTokens: undefined,
    windowSource: "unknown",
    utilization: undefined,
    rebuild: undefined,
  };
}

/** Adds to a boundary what another report of it says. */
function readRepeated(result: FoldRun, known: PendingBoundary, mark: MarkFacts): void {
  const { state } = result;
  const joined = joinReport(known, mark);
  state.pending = state.pending.map((one) => (one === known ? joined : one));
  // A cut may have come since: what is before it stays as it is.
  if (state.waited === MOST_WAITED) return;
  if (joined.tokensBefore !== known.tokensBefore || joined.tokensAfter !== known.tokensAfter)
    result.marks.set(joined.id, settled(joined));
}

/** Remembers the reported line. Unless the harness acknowledged another one, the report also decides on which side the agent is. */
function readReport(
  state: FoldRun["state"],
  crossing: ReportedCrossing,
  at: number,
  { thresholds }: FoldOptions,
): void {
  const { threshold, up } = crossing;
  state.reportedLines = rememberLine(state.reportedLines, crossing, state.model);
  if (!isThreshold(threshold)) return;
  if (thresholds.at(at, state.model).sources[threshold] === "acknowledged") return;
  state.above = standing(state.above, threshold, up);
}

function standing(
  above: readonly ThresholdName[],
  name: ThresholdName,
  up: boolean,
): readonly ThresholdName[] {
  if (above.includes(name) === up) return above;
  return up ? [...above, name] : above.filter((one) => one !== name);
}

/** The thresholds that an agent was above before a turn. A report of this turn may have come before it. */
function aboveBefore(
  { above, unmatched }: FoldRun["state"],
  contextTokens: number,
): readonly ThresholdName[] {
  let before = above;
  for (const report of unmatched) {
    if (report.contextTokens !== contextTokens || !isThreshold(report.threshold)) continue;
    before = standing(before, report.threshold, !report.up);
  }
  return before;
}

/** @param turn the call, with what other reports add to the one of the item */
function readTurn(
  result: FoldRun,
  { turn: report, window }: TurnItem,
  turn: TurnFacts,
  options: FoldOptions,
): void {
  const { state, summary } = result;
  const contextTokens = promptTokens(turn.usage);
  rememberSize(state, turn, contextTokens);
  const resolved = sizeOf(result, turn.model, options);
  const utilization = utilizationOf(contextTokens, resolved.tokens);
  const reading: TurnReading = {
    turn,
    report,
    isRepeat: false,
    window,
    contextTokens,
    windowTokens: resolved.tokens,
    windowSource: resolved.source,
    utilization,
    rebuild: undefined,
  };
  result.turns.push(reading);

  const previousModel = state.model;
  const idle = state.lastTurnAt === undefined ? undefined : turn.at - state.lastTurnAt;
  state.lastTurnAt = Math.max(state.lastTurnAt ?? turn.at, turn.at);
  if (result.isWitnessed) state.traces = withTrace(state.traces, report);
  summary.turns += 1;
  if (turn.compaction) {
    state.summaryCalls = addSummaryCall(state.summaryCalls, turn);
    // The model that compacts need not be the one that works: its window is not the agent's.
    touchWindow(result, turn, window, 1, undefined, undefined, undefined);
    return;
  }
  state.model = turn.model;
  state.windowTokens = resolved.tokens;
  state.windowSource = resolved.source;
  touchWindow(result, turn, window, 1, contextTokens, resolved.tokens, utilization);
  if (contextTokens === undefined) {
    state.uncounted += 1;
    return;
  }

  const fall = explainFall(result, turn, window, contextTokens, previousModel);
  const modelChanged = previousModel !== undefined && previousModel !== turn.model;
  const inCache = { turn, contextTokens, idle, fall, modelChanged };
  reading.rebuild = cacheRebuild(state.cached, inCache);
  state.cached = cachedAfter(state.cached, reading.rebuild, inCache);
  state.waited = 0;
  state.current = contextTokens;
  state.currentWindow = window;
  state.currentAt = turn.at;
  state.currentEstimated = turn.estimated;
  state.uncounted = 0;
  if (summary.peak === undefined || contextTokens > summary.peak.tokens) {
    summary.peak = { tokens: contextTokens, windowTokens: resolved.tokens, at: turn.at };
  }
  summary.peakUtilization = larger(summary.peakUtilization, utilization);

  const level = { turnKey: turn.key, at: turn.at, contextTokens, windowTokens: resolved.tokens };
  const inForce = options.thresholds.at(turn.at, turn.model);
  state.generation = inForce.generation;
  const thresholds = judgedBy(inForce, state.reportedLines, turn.model);
  const crossed = crossingsOf(aboveBefore(state, contextTokens), level, thresholds);
  state.above = crossed.above;
  if (crossed.crossings.length === 0 && state.unmatched.length === 0) appendLevel(state.levels, level);
  else Object.assign(state, applyLevel(state, level, crossed.crossings, result));
}

/** Reads a turn that reports a call again. Only the order of later events depends on it. */
function readRepeat(result: FoldRun, { turn, window }: TurnItem): void {
  const { state } = result;
  result.turns.push(uncountedReading(turn, window));
  state.lastTurnAt = Math.max(state.lastTurnAt ?? turn.at, turn.at);
  state.traces = withTrace(state.traces, turn);
  touchWindow(result, turn, window, 0, undefined, undefined, undefined);
}

/** Remembers the reported size of the window, and whether this prompt exceeds it. An estimate refutes nothing. */
function rememberSize(
  state: FoldRun["state"],
  { model, sentLimit, estimated }: TurnFacts,
  contextTokens: number | undefined,
): void {
  const known = state.reported.find((one) => one.model === model);
  const tokens = sentLimit ?? known?.tokens;
  if (tokens === undefined) return;
  const isRefuted =
    (known?.tokens === tokens && known.refuted === true) ||
    (!estimated && contextTokens !== undefined && contextTokens > tokens);
  if (sentLimit === undefined && isRefuted === (known?.refuted === true)) return;
  const others = state.reported.filter((one) => one !== known);
  state.reported = [...others, { model, tokens, ...(isRefuted && { refuted: true as const }) }].slice(
    -REPORTED,
  );
}

function sizeOf(result: FoldRun, model: string, { lookups }: FoldOptions): ResolvedWindow {
  const { state, size } = result;
  const known = state.reported.length === 0 ? undefined : state.reported.find((one) => one.model === model);
  const { tokens: reported, refuted: isRefuted = false } = known ?? {};
  if (
    size !== undefined &&
    size.model === model &&
    size.reported === reported &&
    size.isRefuted === isRefuted
  )
    return size.resolved;
  const resolved = resolveWindow({ model, reported, isRefuted }, lookups);
  result.size = { model, reported, isRefuted, resolved };
  return resolved;
}

/**
 * Sets the level after the pending boundaries, or records a fall that no boundary explains. Returns the type of the latest of them,
 * undefined if the level did not fall.
 */
function explainFall(
  result: FoldRun,
  turn: TurnFacts,
  window: number,
  contextTokens: number,
  previousModel: string | undefined,
): BoundaryType | undefined {
  const { state } = result;
  const before = state.current;
  const { turns, refill } = state.sinceFall;
  const read = turn.usage.cache_read_tokens;
  const facts = (): FallFacts => {
    const hour = hourWrite(turn.usage);
    const { summaryCalls: summary } = state;
    return { turns, refill, model: turn.model, read, ...(hour && { hour }), summary };
  };
  // An estimate is often a third off: beside a measured level it proves no fall.
  const comparable = turn.estimated === state.currentEstimated;
  const fell =
    before !== undefined && comparable && before - contextTokens > Math.max(DROP_TOKENS, before * DROP_SHARE);
  if (state.pending.length > 0) {
    const last = state.pending.at(-1)!;
    if (state.waited < MOST_WAITED) {
      const tokensAfter = last.tokensAfter ?? contextTokens;
      const { survived } = last;
      const fall = survived === undefined ? facts() : { ...facts(), survived };
      result.marks.set(last.id, { ...settled(last), tokensAfter, fall });
    }
    beginAfterFall(state, state.pending[0]!.tokensBefore, contextTokens);
    state.pending = [];
    return isBoundary(last.type) ? last.type : undefined;
  }
  const moved = state.currentWindow !== undefined && state.currentWindow !== window;
  if (before !== undefined && (fell || moved)) {
    const id = `inferred/${turn.key}`;
    const hint = moved
      ? "window_moved"
      : hintOf(contextTokens, state.windowTokens, turn.model, previousModel);
    const type = moved ? "restarted" : "unexplained";
    result.inferred.set(id, {
      id,
      type,
      at: turn.at,
      window: state.currentWindow ?? window,
      tokensBefore: before,
      tokensAfter: contextTokens,
      hint,
      fall: facts(),
    });
    beginAfterFall(state, before, contextTokens);
    return type;
  }
  state.sinceFall = countLevel(state.sinceFall, contextTokens);
  state.recent.push(contextTokens);
  if (state.recent.length > RECENT) state.recent.shift();
  return undefined;
}

/** @param before the level before the fall */
function beginAfterFall(state: FoldRun["state"], before: number | undefined, contextTokens: number): void {
  state.recent = [contextTokens];
  state.sinceFall = countLevel({ turns: 0, before, refill: undefined }, contextTokens);
  state.summaryCalls = undefined;
}

function hintOf(
  contextTokens: number,
  windowTokens: number | undefined,
  model: string,
  previousModel: string | undefined,
): FallHint | undefined {
  if (previousModel !== undefined && previousModel !== model) return "model_changed";
  // Ollama drops the oldest messages when the prompt outgrows its window and then reports half of it plus two.
  if (windowTokens !== undefined && Math.abs(contextTokens - (windowTokens / 2 + 2)) <= 2) {
    return "truncation_suspected";
  }
  return undefined;
}

function touchWindow(
  { windows }: FoldRun,
  turn: TurnFacts,
  index: number,
  turns: 0 | 1,
  contextTokens: number | undefined,
  windowTokens: number | undefined,
  utilization: number | undefined,
): void {
  const open = windows.get(index);
  if (open === undefined) {
    windows.set(index, {
      index,
      firstAt: turn.at,
      lastAt: turn.at,
      turns,
      firstTokens: contextTokens,
      lastTokens: contextTokens,
      peakTokens: contextTokens,
      peakUtilization: utilization,
      windowTokens,
    });
    return;
  }
  // In place: the summary is this run's own.
  if (turn.at < open.firstAt) open.firstAt = turn.at;
  if (turn.at > open.lastAt) open.lastAt = turn.at;
  open.turns += turns;
  open.firstTokens ??= contextTokens;
  open.lastTokens = contextTokens ?? open.lastTokens;
  open.peakTokens = larger(open.peakTokens, contextTokens);
  open.peakUtilization = larger(open.peakUtilization, utilization);
  open.windowTokens = windowTokens ?? open.windowTokens;
}
