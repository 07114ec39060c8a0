export { DEFAULT_BUDGET, type TokenBudget } from "./budget.ts";
export { type OptimisticCompaction, type OptimisticOptions, optimistic } from "./optimistic.ts";
export { PromptIr, type Swap } from "./prompt-ir.ts";
export {
  type Area,
  expDecay,
  halfLife,
  type Priority,
  type Recency,
  type Section,
  type Stage,
} from "./section.ts";
export {
  type Compact,
  ContextWatcher,
  type WatcherOptions,
  type WatchResult,
  type WatchStatus,
} from "./watcher.ts";
