import { type Limits, windDownOver } from "../decide/decide.ts";
import { GuardError } from "../error.ts";
import { type Alignment, placeOf, placeOfCut } from "../view/alignment.ts";
import type { AgentNotice, GuardState, SeenHistory } from "./state.ts";

/** Pure changes of the guard's state other than observed turns. */

/** Starts the next session in a new window. Totals over all sessions are kept. */
export function afterRestart(state: GuardState): GuardState {
  return {
    ...state,
    session: state.session + 1,
    window: state.window + 1,
    restarts: state.restarts + 1,
    turns: 0,
    level: undefined,
    windDownAt: undefined,
    compactAsked: undefined,
    compactAfter: 0,
    weakActions: 0,
    lowered: true,
  };
}

/** Records that the wind-down notice was sent. */
export function afterWindDown(state: GuardState): GuardState {
  return { ...state, windDownAt: state.allTurns };
}

/**
 * Ends the wind-down once the level is far enough below the hard line, so the next crossing sends a new notice.
 * `level` is in tokens.
 */
export function settleWindDown(state: GuardState, limits: Limits, level: number | undefined): GuardState {
  if (state.windDownAt === undefined || level === undefined || !windDownOver(level, limits)) return state;
  const notices = state.notices.filter((notice) => notice.kind !== "wind_down");
  return { ...state, windDownAt: undefined, notices };
}

export function withNotice(state: GuardState, notice: AgentNotice): GuardState {
  return { ...state, notices: [...state.notices, notice] };
}

/** Drops the notices before the canonical message at index `at`. */
export function withoutNoticesBefore(state: GuardState, at: number): GuardState {
  return { ...state, notices: state.notices.filter((notice) => notice.after >= at) };
}

/** What became of the edits of a history that changed. */
export interface Realigned {
  state: GuardState;
  /** True if the summary or marker before the cut no longer belongs to the history, and was dropped. */
  cutLost: boolean;
}

/**
 * Moves the edits to where their messages stand now, and drops those whose messages are gone. A summary is kept only if
 * everything still sent before its cut is what it summarised.
 * @param before the state's trail and leading system messages
 */
export function realigned(state: GuardState, now: SeenHistory, alignment: Alignment): Realigned {
  const { seen, cut, notices } = state;
  const offset = seen?.pinned ?? 0;
  const at = cut === undefined ? undefined : placeOfCut(alignment, Math.max(0, cut.at - offset));
  const kept = notices.flatMap((notice) => {
    const place = placeOf(alignment, notice.after - 1 - offset);
    return place === undefined ? [] : [{ ...notice, after: place + 1 + now.pinned }];
  });
  const announcesRestart = ({ kind }: AgentNotice) => kind === "wind_down";
  const forgotten = notices.some(announcesRestart) && !kept.some(announcesRestart);
  const cutLost = cut !== undefined && at === undefined;
  const moved: GuardState = {
    ...state,
    seen: now,
    cut: cut === undefined || at === undefined ? undefined : { ...cut, at: at + now.pinned },
    notices: kept,
    // The agent no longer sees the announcement, so it needs another one.
    windDownAt: forgotten ? undefined : state.windDownAt,
    lowered: true,
  };
  return { state: moved, cutLost };
}

/** Starts another window, because the harness emptied or replaced the history. */
export function afterClear(state: GuardState): GuardState {
  return {
    ...state,
    window: state.window + 1,
    level: undefined,
    windDownAt: undefined,
    compactAsked: undefined,
    compactAfter: 0,
    weakActions: 0,
    filed: [],
    lowered: true,
  };
}

const MOST_FACT_CHARS = 8_000;

/**
 * Adds, replaces or (with an empty text) removes a fact.
 * @throws {GuardError} `facts_too_long`
 */
export function withFact(state: GuardState, name: string, text: string): GuardState {
  const others = (state.facts ?? []).filter((fact) => fact.name !== name);
  const facts = text === "" ? others : [...others, { name, text }];
  const length = facts.reduce((sum, fact) => sum + fact.name.length + fact.text.length, 0);
  if (length <= MOST_FACT_CHARS) return { ...state, facts };
  throw new GuardError(
    "facts_too_long",
    `The facts have ${length} characters together; at most ${MOST_FACT_CHARS} stay in the context. Shorten or remove some.`,
  );
}
