import { type BoundaryType, type Crossing, opensWindow, type Usage } from "@plimsoll/protocol/pure";
import { afterRestart, afterWindDown, settleWindDown } from "./changes.ts";
import { type Decision, decide, limitsOf } from "./decide.ts";
import { observeTurn, type UsageFlag } from "./observe.ts";
import type { GuardPolicy } from "./policy.ts";
import { type GuardState, newState } from "./state.ts";

/** One recorded turn of one agent. */
export interface RecordedTurn {
  type: "turn";
  id: string;
  /** Epoch ms. */
  at: number;
  model: string;
  usage: Usage;
  /** Size of the window, tokens; undefined when nobody knew it. */
  windowTokens: number | undefined;
}

/** A recorded reason for a fall, in its place among the turns. */
export interface RecordedBoundary {
  type: BoundaryType;
}

export type Recorded = RecordedTurn | RecordedBoundary;

/** What would have been due after a turn, had the policy been in force. */
export type DueResponse = Exclude<Decision["type"], "rest">;

export interface ReplayedTurn {
  id: string;
  /** The same turn was recorded before; counts were merged. */
  merged: boolean;
  /** Context tokens. */
  level: number | undefined;
  utilization: number | undefined;
  flags: readonly UsageFlag[];
  crossings: readonly Crossing[];
  /** Responses that became due with this turn. One that stays due is named once. */
  due: readonly DueResponse[];
}

export interface ReplayState {
  guard: GuardState;
  /** Due since an earlier turn. */
  due: readonly DueResponse[];
}

export function newReplay(): ReplayState {
  return { guard: newState(1, 0), due: [] };
}

/**
 * One recorded item through the core of the live guard, under any policy: what its thresholds would have seen and which
 * responses would have been due. Levels are taken as they were recorded, so they contain what the harness itself did,
 * and each response is judged by itself, as if it had something to give: what was in the messages is not recorded.
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

/** A whole recording of one agent, in order. */
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

/** Each response alone, so that one that comes first in the order does not hide the others. */
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
    windDownTurns: windDownAt === undefined ? undefined : allTurns - windDownAt,
    restarts,
  };
  const off = { mask: null, compact: null, restart: null };
  return [
    decide(facts, { ...policy, ...off, mask: policy.mask }),
    decide(facts, { ...policy, ...off, compact: policy.compact }),
    decide(facts, { ...policy, ...off, restart: policy.restart }),
  ].flatMap(({ type }) => (type === "rest" ? [] : [type]));
}
