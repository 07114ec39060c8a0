import type { GuardState } from "@plimsoll/guard";
import type { SessionsEnd } from "./run-sessions.ts";

/** Everything that a run needs to continue. Plain JSON, if the messages are. */
export interface SessionsState<M> {
  version: 1;
  /** The number of the session is in it. */
  guard: GuardState;
  /** The messages of the current session. */
  history: readonly M[];
  /** Turns over all sessions. */
  turns: number;
  /** Undefined while the run continues, or if its process died. */
  end?: SessionsEnd;
}

/** Stores a run after each turn, so that it continues after a crash. See `fileSessionsStore` of `@plimsoll/runtime/node`. */
export interface SessionsStore<M> {
  /** Claims the store for this run. Returns the function that releases it. */
  claim?(): Promise<() => Promise<void>>;
  read(): Promise<SessionsState<M> | undefined>;
  write(state: SessionsState<M>): Promise<void>;
}
