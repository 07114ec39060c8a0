import { type Limits, windDownOver } from "./decide.ts";
import type { AgentNotice, GuardState } from "./state.ts";

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

/** Drops edits of messages that no longer exist, after the harness shortened its history to `length` messages. */
export function withoutLostEdits(state: GuardState, length: number): GuardState {
  const { cut, notices } = state;
  const lost = cut !== undefined && cut.at > length;
  const stale = notices.some((notice) => notice.after > length);
  if (!lost && !stale) return state;
  return {
    ...state,
    cut: lost ? undefined : cut,
    notices: notices.filter((notice) => notice.after <= length),
    lowered: true,
  };
}
