export { MANAGER_LIMITS, Manager, type ManagerLimits, type ManagerOptions, ReadRefused } from "./manager.ts";
export type {
  OrchestrateOptions,
  OrchestrateResult,
  PhaseContext,
  PhaseOutcome,
  Verdict,
} from "./options.ts";
export { orchestrate } from "./orchestrate.ts";
export type { SplitRequest, SubPhase, TooLarge, WorkSize } from "./split.ts";
export {
  type Edit,
  memoryRunStore,
  type PhaseRecord,
  type PhaseStatus,
  type RunState,
  type RunStore,
} from "./state.ts";
