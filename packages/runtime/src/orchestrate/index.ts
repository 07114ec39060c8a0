export { MANAGER_LIMITS, Manager, type ManagerLimits, type ManagerOptions, ReadRefused } from "./manager.ts";
export {
  type OrchestrateOptions,
  type OrchestrateResult,
  orchestrate,
  type PhaseContext,
  type PhaseOutcome,
  type Verdict,
} from "./orchestrate.ts";
export { completionReport, contextWarning, handoffText, progressTable } from "./run-report.ts";
export {
  SPLIT_LIMITS,
  type SplitLimits,
  type SplitRequest,
  type SubPhase,
  splitNotice,
  subPhaseId,
  type TooLarge,
  tooLarge,
  type WorkSize,
} from "./split.ts";
export {
  applyEdits,
  type Edit,
  editLines,
  memoryRunStore,
  type PhaseRecord,
  type PhaseStatus,
  type RunState,
  type RunStore,
} from "./state.ts";
