import {
  type Crossing,
  crossingsOf,
  mergeUsage,
  normaliseUsage,
  type UsageEvidence,
  utilizationOf,
} from "@plimsoll/fold";
import type { Usage } from "@plimsoll/protocol/pure";
import { anchored, calibrate, predict } from "../measure/calibrate.ts";
import type { GuardPolicy } from "../policy/policy.ts";
import { judgeCount } from "./judge-count.ts";
import type { GuardState } from "./state.ts";

/** Why a count is suspect. */
export type UsageFlag =
  /** The provider returned no count. The guard uses its estimate. */
  | "count_missing"
  /** The count is far below the estimate, and nothing says that the prompt was shortened. The guard keeps its estimate. */
  | "implausible"
  /** The server probably truncated the prompt to fit its window, as Ollama does silently. */
  | "truncation_suspected"
  /** The count exceeds the window size, so the window size is probably wrong. */
  | "window_suspect"
  /** The counts of the call contradict each other. The level is the likeliest reading; estimates do not learn from it. */
  | "contradictory";

/** One turn as the provider counted it. */
export interface CountedTurn {
  id: string;
  /** Epoch ms. */
  at: number;
  model: string;
  usage: Usage;
  evidence?: UsageEvidence;
  windowTokens: number | undefined;
  /** The provider or the harness shortened what the model sees, so a lower count is right. */
  isEdited: boolean;
}

/** The result of {@link observeTurn}. */
export interface TurnObserved {
  state: GuardState;
  /** True if the turn was reported before; the counts are merged. */
  merged: boolean;
  usage: Usage;
  /** Level after this turn, in tokens. An estimate if `estimated` is true. */
  level: number | undefined;
  estimated: boolean;
  /** Level ÷ window tokens, as a fraction. */
  utilization: number | undefined;
  flags: UsageFlag[];
  crossings: Crossing[];
}

const KEPT_TURNS = 32;

/** Applies one turn to the state. Pure: the same state and turn always give the same result. */
export function observeTurn(state: GuardState, turn: CountedTurn, policy: GuardPolicy): TurnObserved {
  const place = state.recent.findIndex((known) => known.id === turn.id);
  const known = place < 0 ? undefined : state.recent[place]!;
  const usage = known === undefined ? turn.usage : mergeUsage(known.usage, turn.usage);
  const counted = normaliseUsage(usage);
  const latest = place < 0 || place === state.recent.length - 1;
  const next: GuardState = {
    ...state,
    model: latest ? turn.model : state.model,
    recent:
      known === undefined
        ? [...state.recent, { id: turn.id, usage, at: turn.at }].slice(-KEPT_TURNS)
        : state.recent.with(place, { ...known, usage }),
  };
  if (known === undefined) {
    next.turns += 1;
    next.allTurns += 1;
  }
  const before = known === undefined ? undefined : normaliseUsage(known.usage).contextTokens;
  if (!latest || (known !== undefined && before === counted.contextTokens)) {
    return turnResult(next, turn, usage, state.level, known !== undefined);
  }
  const { level, flags, count, doubt } = judgeCount(state, counted, turn.windowTokens, turn.isEdited);
  const accepted = count !== "refused" && turn.evidence !== "contradiction";
  if (turn.evidence === "contradiction") flags.push("contradictory");
  next.growth = growthOf(state, level);
  next.level = level;
  next.peak = Math.max(state.peak, level ?? 0);
  next.doubt = doubt;
  next.lowered = false;
  next.edited = false;
  if (accepted && level !== undefined && state.sent !== undefined) {
    if (state.reclaimed !== undefined && state.reclaimed.measured === undefined) {
      const surprise = predict(state.calibration, state.sent).tokens - level;
      next.reclaimed = {
        ...state.reclaimed,
        measured: Math.max(0, state.reclaimed.estimated + surprise),
      };
    }
    const learn = count === "learned" ? calibrate : anchored;
    next.calibration = learn(state.calibration, state.sent, level);
  }
  const result = turnResult(next, turn, usage, level, known !== undefined);
  result.estimated = !accepted;
  result.flags = flags;
  if (level !== undefined) {
    const crossed = crossingsOf(
      state.above,
      { turnKey: turn.id, at: turn.at, contextTokens: level, windowTokens: turn.windowTokens },
      policy.thresholds,
    );
    next.above = crossed.above;
    next.warnings += crossed.crossings.filter((one) => one.up && one.threshold === "warning").length;
    result.crossings = crossed.crossings;
  }
  return result;
}

/** Weight of the newest turn in the average growth. */
const GROWTH_WEIGHT = 0.2;

/** Tokens that a turn adds on average. A level that was lowered says nothing about it. */
function growthOf({ growth, level: before, lowered }: GuardState, level: number | undefined): number {
  return averageGrowth(growth, lowered ? undefined : before, level);
}

/** The average growth after a turn; a fall and an unknown level leave it as it is. Tokens. */
export function averageGrowth(growth: number, before: number | undefined, level: number | undefined): number {
  if (level === undefined || before === undefined || level < before) return growth;
  return growth === 0 ? level - before : growth + (level - before - growth) * GROWTH_WEIGHT;
}

function turnResult(
  state: GuardState,
  turn: CountedTurn,
  usage: Usage,
  level: number | undefined,
  merged: boolean,
): TurnObserved {
  return {
    state,
    merged,
    usage,
    level,
    estimated: false,
    utilization: utilizationOf(level, turn.windowTokens),
    flags: [],
    crossings: [],
  };
}
