export { DEFAULT_BUDGET, limitOf, lowWaterOf, resolveBudget, type TokenBudget } from "./budget.ts";
export { PromptIr, type Swap } from "./ir.ts";
export { planCompaction } from "./plan.ts";
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
  summariseWithoutModel,
  type WatcherOptions,
  type WatchResult,
  type WatchStatus,
} from "./watcher.ts";
