/** Machine-readable cause of a {@link GuardError}. */
export type GuardErrorCode =
  /** A restart is due, but the maximum is reached. */
  | "max_restarts"
  /** The prompt does not fit, and nothing more can be left out. */
  | "prompt_too_long"
  /** The prompt no longer fits, and nobody confirmed the restart that it needs. */
  | "restart_unconfirmed"
  /** Another process, or another call in this process, is using the same state. */
  | "store_locked"
  /** Another process took over the state because this process seemed dead. */
  | "store_lost"
  /** An edit of a stored run changes too many lines of its file. */
  | "edit_too_large"
  /** An option of the guard or a field of its policy is invalid. */
  | "invalid_option"
  /** The client has another structure than the versions that the guard knows. */
  | "unsupported_client"
  /** A summary was longer than asked for, and was cut. */
  | "summary_too_long"
  /** The declared facts are too long to stay in the context. */
  | "facts_too_long"
  /** The orchestrator tried to read a file that a manager must not read. */
  | "read_refused";

/** The `max_restarts` error for a policy that allows `max` restarts. */
export function noRestartLeft(max: number): GuardError {
  return new GuardError(
    "max_restarts",
    `The call was not sent: a restart is due, but the maximum of ${max} is reached. Start a new session with a new ` +
      `guard, raise policy.restart.max, or pass onStop: "send" to send the call anyway.`,
  );
}

/** The `prompt_too_long` error for a prompt of about `tokens` tokens. */
export function promptTooLong(tokens: number, windowTokens: number | undefined): GuardError {
  return new GuardError(
    "prompt_too_long",
    `The call was not sent: its prompt of about ${tokens} tokens does not fit into the window of ${windowTokens}, and ` +
      `nothing more can be left out. Shorten the system prompt, the tools or the last message, use a larger window, or pass ` +
      `onStop: "send" to send the call anyway.`,
  );
}

/** The `summary_too_long` error. Both in characters. */
export function summaryTooLong(length: number, max: number): GuardError {
  return new GuardError(
    "summary_too_long",
    `The summary has ${length} characters and was cut to ${max}. Tell the model the limit that summarize gets as maxChars.`,
  );
}

/** The class of every error that the guard throws itself. Check `code`; the message says what to do. */
export class GuardError extends Error {
  readonly code: GuardErrorCode;

  constructor(code: GuardErrorCode, message: string) {
    super(message);
    this.name = "GuardError";
    this.code = code;
  }
}
