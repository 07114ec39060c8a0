export { type GuardPolicy, resolvePolicy } from "../policy.ts";
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
