export { type GuardPolicy, resolvePolicy } from "../policy/policy.ts";
export {
  ASSUMED_EFFECTS,
  EFFECT_NAMES,
  type EffectName,
  type LevelLeft,
  type ReplayEffects,
  type ReplayPolicy,
  type ResponseHabits,
  replayPolicyOf,
} from "./effects.ts";
export type { RunFigures, RunOptions } from "./policy-run.ts";
export {
  type DueResponse,
  newReplay,
  type Recorded,
  type RecordedBoundary,
  type RecordedTurn,
  type ReplayedTurn,
  type ReplayState,
  replay,
  replayOne,
} from "./replay.ts";
export {
  type AffectedSession,
  countOf,
  mergeTotals,
  noTotals,
  type RankedSession,
  REPLAY_COUNTS,
  type ReplayCount,
  type ReplayTotals,
  type RunTotals,
  sessionTotals,
} from "./totals.ts";
export {
  type AgentFigures,
  AgentReplay,
  type AgentReplayOptions,
  REPLAY_RUNS,
  type ReplayItem,
  type ReplayPoint,
  type ReplayRun,
} from "./turns.ts";
