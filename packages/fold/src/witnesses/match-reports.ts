import { WITNESSES } from "@plimsoll/protocol/pure";
import { compareText } from "../history/timeline.ts";
import type { TurnFacts } from "../history/turn.ts";
import { contextTokens } from "../history/usage.ts";
import { joinReports } from "./join-reports.ts";
import { rankOf, witnessMask } from "./witness.ts";

/**
 * Reports of one call are stamped within this time of each other, or of its beginning. Telemetry has the end of the call, a recording
 * the time at which its first line was written, and the clocks of both may differ by seconds.
 */
export const SAME_CALL_MS = 10_000;
/** Longer durations of a call say nothing: a recording that was written so long before is of another call. */
const LONGEST_CALL_MS = 600_000;
/** No report of a call is stamped longer before another one. */
export const LONGEST_REACH_MS = SAME_CALL_MS + LONGEST_CALL_MS;
/** Calls that wait for another report at once, of those with one level. More are only seen in broken recordings. */
const MOST_WAITING = 64;
/** Reports that an agent's state remembers one by one. */
const MOST_TRACES = 16;

/** How much earlier than a report another one of its call may be stamped, ms. A report that knows how long its call took has the end of it. */
export const callReach = ({ durationMs = 0 }: Pick<TurnFacts, "durationMs">): number =>
  SAME_CALL_MS + Math.min(durationMs, LONGEST_CALL_MS);

/** How a turn reads that reports a call again, under an id of its own. It counts nowhere. */
export const REPEATED_TURN = "repeated";

/** The calls with what other reports add to them, and the reports that repeat a call. The rest reads as it is. */
export type MatchedReports = ReadonlyMap<TurnFacts, TurnFacts | typeof REPEATED_TURN>;

/** A turn or another event, and the window it belongs to. */
interface PlacedEvent {
  turn?: TurnFacts | undefined;
  window: number;
}

/** A turn that another witness may report too. Tokens. */
interface WitnessedReport {
  turn: TurnFacts;
  window: number;
  tokens: number;
  witnesses: number;
}

/** A client of the Agent Client Protocol sees a level alone. */
const LEVEL_ONLY = 1 << WITNESSES.indexOf("acp");

/**
 * Finds the reports of one agent that repeat a call of it. They come from other witnesses, in the same window, within
 * `callReach`, with the same level and no count that contradicts. Each witness reports a call once, and calls with
 * equal counts are matched in the order of time. The result depends only on the set of turns.
 * @returns undefined if no two turns have different witnesses
 */
export function matchReports(events: readonly PlacedEvent[]): MatchedReports | undefined {
  const byLevel = witnessedByLevel(events);
  if (byLevel === undefined) return undefined;
  const levels = byLevel.get(LEVEL_REPORTS) ?? [];
  byLevel.delete(LEVEL_REPORTS);
  const calls = [...byLevel.values()].flatMap(callsOf);
  addLevels(calls, levels);
  const matched = new Map<TurnFacts, TurnFacts | typeof REPEATED_TURN>();
  for (const { members } of calls) {
    if (members.length < 2) continue;
    const [first, ...others] = members.sort((a, b) => trustOf(b) - trustOf(a)).map(({ turn }) => turn);
    matched.set(first!, joinReports(first!, others));
    for (const other of others) matched.set(other, REPEATED_TURN);
  }
  return matched;
}

/** The place of reports that have a level alone. No prompt is negative. */
const LEVEL_REPORTS = -1;

function witnessedByLevel(events: readonly PlacedEvent[]): Map<number, WitnessedReport[]> | undefined {
  let common = -1;
  for (const { turn } of events) if (turn !== undefined) common &= witnessMask(turn.provenance);
  // Nobody reports a call twice, so a witness of all turns leaves nothing to match.
  if (common !== 0) return undefined;
  const byLevel = new Map<number, WitnessedReport[]>();
  for (const { turn, window } of events) {
    if (turn === undefined) continue;
    const tokens = witnessedLevel(turn);
    if (tokens === undefined) continue;
    const report = { turn, window, tokens, witnesses: witnessMask(turn.provenance) };
    const level = report.witnesses === LEVEL_ONLY ? LEVEL_REPORTS : tokens;
    const same = byLevel.get(level);
    if (same === undefined) byLevel.set(level, [report]);
    else same.push(report);
  }
  return byLevel;
}

/** The prompt of a turn that may have other reports; undefined if nobody counted it. */
function witnessedLevel(turn: TurnFacts): number | undefined {
  return turn.estimated ? undefined : contextTokens(turn.usage);
}

/** Whether anyone but the harness itself counted a turn. */
export const isWitnessed = (turn: TurnFacts): boolean =>
  turn.provenance !== 0 && witnessedLevel(turn) !== undefined;

interface Call {
  /** The times of its first and its last report. */
  at: number;
  lastAt: number;
  witnesses: number;
  members: WitnessedReport[];
}

function callsOf(reports: WitnessedReport[]): Call[] {
  const calls: Call[] = [];
  const waiting: Call[] = [];
  reports.sort(byTime);
  for (const report of reports) {
    const { at } = report.turn;
    dropPast(waiting, at - LONGEST_REACH_MS);
    const known = waiting.find(
      (call) =>
        (at - call.lastAt <= SAME_CALL_MS || at - call.at <= callReach(report.turn)) &&
        (call.witnesses & report.witnesses) === 0 &&
        call.members.every((member) => agree(member, report)),
    );
    if (known !== undefined) {
      addReport(known, report);
      continue;
    }
    const call = { at, lastAt: at, witnesses: report.witnesses, members: [report] };
    calls.push(call);
    waiting.push(call);
  }
  return calls;
}

/** Drops the calls at the start of a list that had their last report before a time, and the first of too many. */
function dropPast(waiting: Call[], before: number): void {
  while (waiting.length > 0 && (waiting[0]!.lastAt < before || waiting.length > MOST_WAITING))
    waiting.shift();
}

function addReport(call: Call, report: WitnessedReport): void {
  call.members.push(report);
  call.witnesses |= report.witnesses;
  call.lastAt = Math.max(call.lastAt, report.turn.at);
}

/** Adds reports with a level alone to the calls that had it, in the order of time. */
function addLevels(calls: readonly Call[], reports: WitnessedReport[]): void {
  if (reports.length === 0) return;
  const byLevel = new Map<number, Call[]>();
  for (const call of [...calls].sort((a, b) => a.at - b.at)) {
    for (const level of shownLevels(call)) {
      const same = byLevel.get(level);
      if (same === undefined) byLevel.set(level, [call]);
      else same.push(call);
    }
  }
  for (const report of reports.sort(byTime)) {
    const { at } = report.turn;
    const waiting = byLevel.get(report.tokens) ?? [];
    dropPast(waiting, at - SAME_CALL_MS);
    const known = waiting.find(
      (call) =>
        at - call.lastAt <= SAME_CALL_MS &&
        call.at - at <= SAME_CALL_MS &&
        (call.witnesses & report.witnesses) === 0 &&
        call.members.every((member) => agree(member, report)),
    );
    if (known !== undefined) addReport(known, report);
  }
}

/** The levels that agents show to their clients after a call: the prompt, without what was written to the cache, or with the answer. */
function shownLevels({ members }: Call): ReadonlySet<number> {
  return new Set(
    members.flatMap(({ tokens, turn }) => [
      tokens,
      tokens - (turn.usage.cache_write_tokens ?? 0),
      tokens + (turn.usage.output_tokens ?? 0),
    ]),
  );
}

const byTime = (a: WitnessedReport, b: WitnessedReport) =>
  a.turn.at - b.turn.at || compareText(a.turn.key, b.turn.key);

function agree(a: WitnessedReport, b: WitnessedReport): boolean {
  return (
    a.window === b.window &&
    (a.turn.compaction === b.turn.compaction || isSameOutput(a, b)) &&
    (isSame(a.turn.usage.output_tokens, b.turn.usage.output_tokens) ||
      isCutShort(a, b) ||
      isCutShort(b, a)) &&
    COUNTS.every((count) => isSame(a.turn.usage[count], b.turn.usage[count]))
  );
}

const COUNTS = ["reasoning_tokens", "cache_read_tokens", "cache_write_tokens"] as const;

const RECORDING = 1 << WITNESSES.indexOf("transcript");

/** Lines of a recording have what was counted of an answer when they were written. */
const isCutShort = (one: WitnessedReport, other: WitnessedReport) =>
  one.witnesses === RECORDING && (one.turn.usage.output_tokens ?? 0) < (other.turn.usage.output_tokens ?? 0);

/** A report that does not say that a call compacts takes it from one with all the same counts. */
const isSameOutput = ({ turn: { usage: a } }: WitnessedReport, { turn: { usage: b } }: WitnessedReport) =>
  a.output_tokens !== undefined && a.output_tokens === b.output_tokens;

const isSame = (one: number | undefined, other: number | undefined) =>
  one === undefined || other === undefined || one === other;

/** Trust in the best witness of a report. Reports of one call have no witness in common, so no two are alike. */
function trustOf({ witnesses }: WitnessedReport): number {
  let trust = 0;
  for (let code = 0; code < WITNESSES.length; code++)
    if ((witnesses & (1 << code)) !== 0) trust = Math.max(trust, rankOf(code));
  return trust;
}

/**
 * What the state of an agent remembers of a report that may have others. Epoch ms, tokens; `witnesses` as a mask. Without
 * tokens it stands for several reports: the latest time, and the witnesses that all of them have.
 */
export interface ReportTrace {
  at: number;
  tokens: number | undefined;
  witnesses: number;
}

/** The traces after one more turn. Those that no later report reaches are dropped. */
export function withTrace(traces: readonly ReportTrace[], turn: TurnFacts): readonly ReportTrace[] {
  const tokens = witnessedLevel(turn);
  if (tokens === undefined) return traces;
  const all = [...traces, { at: turn.at, tokens, witnesses: witnessMask(turn.provenance) }];
  const from = all.reduce((latest, { at }) => Math.max(latest, at), turn.at) - LONGEST_REACH_MS;
  const kept = all.filter(({ at }) => at >= from);
  if (kept.length <= MOST_TRACES) return kept;
  const [first, second, ...rest] = kept as [ReportTrace, ReportTrace, ...ReportTrace[]];
  const at = Math.max(first.at, second.at);
  return [{ at, tokens: undefined, witnesses: first.witnesses & second.witnesses }, ...rest];
}

/**
 * Whether a turn may report a call that was folded before. Then the history is folded again from before that call.
 * @param traces none while the harness alone reported turns
 * @param lastTurnAt epoch ms
 */
export function mayRepeat(
  traces: readonly ReportTrace[],
  lastTurnAt: number | undefined,
  turn: TurnFacts,
): boolean {
  if (traces.length === 0)
    return lastTurnAt !== undefined && turn.at - lastTurnAt <= LONGEST_REACH_MS && isWitnessed(turn);
  const tokens = witnessedLevel(turn);
  if (tokens === undefined) return false;
  const witnesses = witnessMask(turn.provenance);
  return traces.some(
    (trace) =>
      turn.at < trace.at ||
      (turn.at - trace.at <= callReach(turn) &&
        (trace.tokens === undefined ||
          trace.tokens === tokens ||
          trace.witnesses === LEVEL_ONLY ||
          witnesses === LEVEL_ONLY) &&
        (trace.witnesses & witnesses) === 0),
  );
}
