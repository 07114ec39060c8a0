export { type HandleKind, Handles } from "./handles.ts";
export { type LoopOptions, type LoopResult, runLoop, type Tick, type TickOutcome } from "./run-loop.ts";
export {
  boundContinuation,
  type Continuation,
  continuationText,
  type Json,
  type LoopEnd,
  type LoopState,
  type LoopStep,
  type LoopStore,
  memoryLoopStore,
} from "./state.ts";
