/** What went wrong, for a program to tell apart. */
export type GuardErrorCode =
  /** The maximum of restarts is reached, and another is due. */
  | "max_restarts"
  /** The prompt no longer fits, and the restart it needs was not agreed to. */
  | "restart_unconfirmed"
  /** Another process, or another call in this one, works on the same state. */
  | "store_locked"
  /** Another process took the state over while this one was taken for gone. */
  | "store_lost"
  /** A configuration file says something that cannot be used. */
  | "invalid_config"
  /** The orchestrator was about to read what a manager must not. */
  | "read_refused";

/** How many restarts are allowed, of which none is left. */
export function noRestartLeft(most: number): GuardError {
  return new GuardError(
    "max_restarts",
    `The call was not sent: another restart is due and the maximum of ${most} is reached. Begin a new session with a ` +
      `new guard, raise policy.restart.max, or pass onStop: "send" to go on without.`,
  );
}

/** Every error the guard raises itself. The message says what to do. */
export class GuardError extends Error {
  readonly code: GuardErrorCode;

  constructor(code: GuardErrorCode, message: string) {
    super(message);
    this.name = "GuardError";
    this.code = code;
  }
}
