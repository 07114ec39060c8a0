export { DEFAULT_BUDGET, limitOf, lowWaterOf, resolveBudget, type TokenBudget } from "./budget.ts";
export { summariseWithoutModel } from "./built-in-summary.ts";
export { type OptimisticCompaction, type OptimisticOptions, optimistic } from "./optimistic.ts";
export { planCompaction } from "./plan.ts";
export { PromptIr, type Swap } from "./prompt-ir.ts";
export {
  type Area,
  compactionScore,
  type Priority,
  recencyWeight,
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
