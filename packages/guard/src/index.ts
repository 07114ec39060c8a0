export { Conversation } from "./conversation.ts";
export type { Decision, Facts, GuardStatus, Limits, RestartReason } from "./decide.ts";
export { decide, limitsOf, lineOfAction } from "./decide.ts";
export { GuardError, type GuardErrorCode } from "./error.ts";
export type { EventBody, Identity } from "./events.ts";
export { eventOf } from "./events.ts";
export type { FitOptions } from "./fit.ts";
export { fit } from "./fit.ts";
export { createGuard, Guard } from "./guard.ts";
export type { Calibration, EstimateSource, Prediction } from "./measure/calibrate.ts";
export { calibrate, newCalibration, predict } from "./measure/calibrate.ts";
export type { Tokenizer } from "./measure/estimate.ts";
export { estimateTokens, tokenizerScale } from "./measure/estimate.ts";
export type { NoTurn, NoTurnReason, ReadTurn, UsageReading, UsageSource } from "./measure/usage.ts";
export { mergeReadings, readUsage } from "./measure/usage.ts";
export type { CountedTurn, TurnObserved, UsageFlag } from "./observe.ts";
export { observeTurn } from "./observe.ts";
export type {
  CompactPolicy,
  GuardMode,
  GuardPolicy,
  MaskPolicy,
  PolicyInput,
  RestartPolicy,
} from "./policy.ts";
export { DEFAULT_POLICY, resolvePolicy } from "./policy.ts";
export { type RecallTool, recallTool } from "./recall-tool.ts";
export type {
  DueResponse,
  Recorded,
  RecordedBoundary,
  RecordedTurn,
  ReplayedTurn,
  ReplayState,
} from "./replay.ts";
export { newReplay, replay, replayOne } from "./replay.ts";
export type { GuardState } from "./state.ts";
export { newState } from "./state.ts";
export {
  COMPACTING_NOTICE,
  maskedNotice,
  maxRestartsReached,
  RESTART_CONFIRMATION,
  restartMarker,
  windDownNotice,
} from "./texts.ts";
export type {
  Action,
  GuardOptions,
  GuardReading,
  MaskStore,
  Observation,
  ObserveFacts,
  Prepared,
} from "./types.ts";
export type { ResultPart } from "./view/history.ts";
export { clip, placeholderFor, summaryOf } from "./view/placeholder.ts";
export type { Message, Part, PartKind, Shape, ToolCall } from "./view/shape.ts";
export { parsedInput, plainShape, textOf } from "./view/shape.ts";
export type { NoticePlace } from "./view/view.ts";
export type { ClientOptions } from "./wrapped-client.ts";
