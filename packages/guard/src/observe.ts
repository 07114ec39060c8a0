import type { Crossing, NormalisedUsage, Usage } from "@plimsoll/protocol/pure";
import { crossingsOf, mergeUsage, normaliseUsage, utilizationOf } from "@plimsoll/protocol/pure";
import { calibrate, predict } from "./measure/calibrate.ts";
import type { GuardPolicy } from "./policy.ts";
import type { GuardState } from "./state.ts";

/** What is odd about a count. */
export type UsageFlag =
  /** The provider gave none: the estimate stands in for it. */
  | "count_missing"
  /** Far below what the prompt must have been, and nothing lowered it. The estimate is kept. */
  | "implausible"
  /** It looks as if the server cut the prompt to fit its window, as Ollama does without a word. */
  | "truncation_suspected"
  /** More tokens than the window is said to hold: the window size is wrong. */
  | "window_suspect";

export interface TurnRead {
  id: string;
  at: number;
  model: string;
  usage: Usage;
  windowTokens: number | undefined;
}

export interface TurnObserved {
  state: GuardState;
  /** The same turn was reported before; counts were merged. */
  merged: boolean;
  usage: Usage;
  /** Level after this turn; an estimate when `estimated`. Tokens. */
  level: number | undefined;
  estimated: boolean;
  utilization: number | undefined;
  flags: UsageFlag[];
  crossings: Crossing[];
}

/** A count below this share of a calibrated estimate is not believed at once. */
const PLAUSIBLE = 0.7;
/** After so many in a row the estimate is what is wrong. */
const BELIEVED_AFTER = 3;
const KEPT_TURNS = 32;

/** One turn into the state. Pure: the same state and turn give the same result. */
export function observeTurn(state: GuardState, turn: TurnRead, policy: GuardPolicy): TurnObserved {
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
    return settled(next, turn, usage, state.level, known !== undefined);
  }
  const { level, flags, believed } = believe(state, counted, turn.windowTokens);
  next.level = level;
  next.peak = Math.max(state.peak, level ?? 0);
  next.implausible = flags.includes("implausible") ? state.implausible + 1 : 0;
  next.lowered = false;
  if (believed && level !== undefined && state.sent !== undefined) {
    if (state.reclaimed !== undefined && state.reclaimed.measured === undefined) {
      const surprise = predict(state.calibration, state.sent).tokens - level;
      next.reclaimed = {
        ...state.reclaimed,
        measured: Math.max(0, state.reclaimed.estimated + surprise),
      };
    }
    next.calibration = calibrate(state.calibration, state.sent, level);
  }
  const result = settled(next, turn, usage, level, known !== undefined);
  result.estimated = !believed;
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

function settled(
  state: GuardState,
  turn: TurnRead,
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

function believe(
  state: GuardState,
  counted: NormalisedUsage,
  windowTokens: number | undefined,
): { level: number | undefined; flags: UsageFlag[]; believed: boolean } {
  const expected = state.sent === undefined ? undefined : predict(state.calibration, state.sent).tokens;
  const tokens = counted.contextTokens;
  if (tokens === undefined)
    return { level: expected ?? state.level, flags: ["count_missing"], believed: false };
  const flags: UsageFlag[] = [];
  if (windowTokens !== undefined && tokens > windowTokens) flags.push("window_suspect");
  const grounded = state.calibration.counts > 0 && !state.lowered;
  const reference = grounded ? expected : undefined;
  if (cutToFit(tokens, reference ?? state.level, windowTokens)) {
    flags.push("truncation_suspected");
    const level = Math.max(reference ?? 0, state.level ?? 0, tokens);
    return { level, flags, believed: false };
  }
  if (reference !== undefined && tokens < reference * PLAUSIBLE) {
    flags.push("implausible");
    if (state.implausible + 1 < BELIEVED_AFTER) return { level: reference, flags, believed: false };
  }
  return { level: tokens, flags, believed: true };
}

/** Ollama drops the oldest messages and then reports half its window plus two, or stays pinned at the window. */
function cutToFit(tokens: number, expected: number | undefined, windowTokens: number | undefined): boolean {
  if (windowTokens === undefined || expected === undefined || tokens >= expected) return false;
  const half = Math.abs(tokens - (windowTokens / 2 + 2)) <= 2;
  return (
    (half && expected > tokens * 1.2) || (tokens >= windowTokens * 0.98 && expected > windowTokens * 1.02)
  );
}
