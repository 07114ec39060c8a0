import { type BoundaryType, type Crossing, opensWindow, type Usage } from "@plimsoll/protocol/pure";
import { type Decision, decide, limitsOf } from "../decide/decide.ts";
import type { GuardPolicy } from "../policy/policy.ts";
import { observeTurn, type UsageFlag } from "../state/observe-turn.ts";
import { type GuardState, newState } from "../state/state.ts";
import { afterRestart, afterWindDown, settleWindDown } from "../state/state-changes.ts";

/** One recorded turn of one agent. */
export interface RecordedTurn {
  type: "turn";
  id: string;
  /** Epoch ms. */
  at: number;
  model: string;
  usage: Usage;
  /** Window size in tokens; `undefined` if unknown. */
  windowTokens: number | undefined;
}

/** A recorded boundary, in order among the turns. */
export interface RecordedBoundary {
  type: BoundaryType;
}

/** One item of a recording. */
export type Recorded = RecordedTurn | RecordedBoundary;

/** A response that would have been due after a turn under the replayed policy. */
export type DueResponse = Exclude<Decision["type"], "rest">;

/** One turn as the replayed policy sees it. */
export interface ReplayedTurn {
  id: string;
  /** True if the turn was recorded before; the counts are merged. */
  merged: boolean;
  /** Context tokens after the turn. */
  level: number | undefined;
  /** Level ÷ window tokens, as a fraction. */
  utilization: number | undefined;
  flags: readonly UsageFlag[];
  crossings: readonly Crossing[];
  /** Responses that became due with this turn. A response that stays due is listed once. */
  due: readonly DueResponse[];
}

/** State between two calls of {@link replayOne}. */
export interface ReplayState {
  guard: GuardState;
  /** Responses due since an earlier turn. */
  due: readonly DueResponse[];
}

/**
 * Returns the state before the first recorded item.
 * @example
 * let state = newReplay();
 */
export function newReplay(): ReplayState {
  return { guard: newState(1, 0), due: [] };
}

/**
 * Applies one recorded item to the core of the live guard under any policy. Levels stay as recorded, so they include
 * the harness's own actions. Recordings hold no messages, so each response is judged as if it had something to free.
 * @example
 * let state = newReplay();
 * for (const recorded of recording) state = replayOne(state, recorded, resolvePolicy()).state;
 */
export function replayOne(
  state: ReplayState,
  recorded: Recorded,
  policy: GuardPolicy,
): { state: ReplayState; turn: ReplayedTurn | undefined } {
  if (recorded.type !== "turn") {
    const guard = opensWindow(recorded.type)
      ? afterRestart(state.guard)
      : { ...state.guard, lowered: state.guard.lowered || recorded.type !== "unexplained" };
    return { state: { ...state, guard }, turn: undefined };
  }
  const observed = observeTurn(state.guard, recorded, policy);
  const limits = limitsOf(policy.thresholds, recorded.windowTokens);
  const settled = settleWindDown(observed.state, limits, observed.state.level);
  const due = responsesDue(settled, recorded.windowTokens, policy);
  const fresh = due.filter((one) => !state.due.includes(one));
  const guard = fresh.includes("wind_down") ? afterWindDown(settled) : settled;
  const { merged, level, utilization, flags, crossings } = observed;
  return {
    state: { guard, due },
    turn: { id: recorded.id, merged, level, utilization, flags, crossings, due: fresh },
  };
}

/**
 * Replays a recording of one agent, in order, under a policy.
 * @returns The crossings and due responses of each turn.
 * @example
 * const turns = replay(recording, resolvePolicy({ thresholds: { soft: "50%" } }));
 */
export function replay(recording: Iterable<Recorded>, policy: GuardPolicy): ReplayedTurn[] {
  let state = newReplay();
  const turns: ReplayedTurn[] = [];
  for (const recorded of recording) {
    const next = replayOne(state, recorded, policy);
    state = next.state;
    if (next.turn !== undefined) turns.push(next.turn);
  }
  return turns;
}

/** Decides each response alone, so that an earlier one does not hide the others. */
function responsesDue(
  { level, windDownAt, allTurns, restarts }: GuardState,
  windowTokens: number | undefined,
  policy: GuardPolicy,
): DueResponse[] {
  if (level === undefined) return [];
  const facts = {
    level,
    windowTokens,
    limits: limitsOf(policy.thresholds, windowTokens),
    maskGain: level,
    urgentGain: level,
    compactGain: level,
    restartGain: level,
    cutGain: level,
    windDownTurns: windDownAt === undefined ? undefined : allTurns - windDownAt,
    restarts,
    turnsSinceAction: undefined,
    weakActions: 0,
    growth: 0,
  };
  const off = { mask: null, compact: null, restart: null };
  return [
    decide(facts, { ...policy, ...off, mask: policy.mask }),
    decide(facts, { ...policy, ...off, compact: policy.compact }),
    decide(facts, { ...policy, ...off, restart: policy.restart }),
  ].flatMap(({ type }) => (type === "rest" ? [] : [type]));
}
