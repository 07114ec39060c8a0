export { type HandleKind, Handles } from "./handles.ts";
export type { LoopOptions, LoopResult, Tick, TickOutcome } from "./options.ts";
export { runLoop } from "./run-loop.ts";
export {
  type Continuation,
  type Json,
  type LoopEnd,
  type LoopState,
  type LoopStep,
  type LoopStore,
  memoryLoopStore,
  type RunningTick,
} from "./state.ts";
export type { NextCall } from "./tick-budget.ts";
