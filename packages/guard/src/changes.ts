import { type Limits, windDownOver } from "./decide.ts";
import type { GuardState, Notice } from "./state.ts";

/** What becomes of a guard's state when something else than a turn happens. Pure: each gives a new state. */

/** The next session begins in a window of its own; what counts over all sessions stays. */
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

/** Told to wind down, from now on. */
export function afterWindDown(state: GuardState): GuardState {
  return { ...state, windDownAt: state.allTurns };
}

/** The wind-down is over when the level fell well below the hard line: the next one is said again. Level in tokens. */
export function settleWindDown(state: GuardState, limits: Limits, level: number | undefined): GuardState {
  if (state.windDownAt === undefined || level === undefined || !windDownOver(level, limits)) return state;
  const notices = state.notices.filter((notice) => notice.kind !== "wind_down");
  return { ...state, windDownAt: undefined, notices };
}

export function withNotice(state: GuardState, notice: Notice): GuardState {
  return { ...state, notices: [...state.notices, notice] };
}

/** Without the notices that stand before a canonical message. */
export function withoutNoticesBefore(state: GuardState, at: number): GuardState {
  return { ...state, notices: state.notices.filter((notice) => notice.after >= at) };
}

/** A harness that cleared its own history starts from nothing: edits of messages that are gone are dropped. */
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
