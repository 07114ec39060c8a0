export {
  runSessions,
  type SessionsEnd,
  type SessionsOptions,
  type SessionsResult,
  type TurnResult,
} from "./run-sessions.ts";
export type { SessionsState, SessionsStore } from "./state.ts";
