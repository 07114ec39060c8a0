/** Every code a caller of the server, or the person starting it, can meet, with its HTTP status. */
export const STATUS_OF_CODE = {
  bad_request: 400,
  invalid_field: 400,
  unknown_type: 400,
  unauthenticated: 401,
  forbidden_scope: 403,
  wrong_project: 403,
  project_archived: 403,
  not_found: 404,
  conflict: 409,
  too_large: 413,
  unsupported_media_type: 415,
  quota_exceeded: 429,
  internal: 500,
  overloaded: 503,
  // Start-up. They reach HTTP only when the condition appears in a running server.
  port_in_use: 500,
  data_folder_unwritable: 500,
  disk_full: 503,
  database_unreachable: 503,
  database_unsafe: 500,
  setting_invalid: 500,
  postgres_binaries_missing: 500,
  root_unsupported: 500,
} as const;

export type ErrorCode = keyof typeof STATUS_OF_CODE;

export interface PlimsollErrorOptions {
  /** Machine-readable facts for the caller. Never a secret: they leave the process. */
  details?: unknown;
  /** What to do about it, for a person. Printed at start-up, not sent over HTTP. */
  hint?: string;
  cause?: unknown;
}

/** The one error class. Anything else that is thrown is a bug and answers as `internal`. */
export class PlimsollError extends Error {
  override readonly name = "PlimsollError";
  readonly code: ErrorCode;
  readonly details: unknown;
  readonly hint: string | undefined;

  constructor(code: ErrorCode, message: string, options: PlimsollErrorOptions = {}) {
    super(message, options.cause === undefined ? undefined : { cause: options.cause });
    this.code = code;
    this.details = options.details;
    this.hint = options.hint;
  }

  get status(): number {
    return STATUS_OF_CODE[this.code];
  }
}

/** For a caller of a server that runs while its database does not answer. */
export function databaseUnreachable(cause?: unknown): PlimsollError {
  const options = cause === undefined ? {} : { cause };
  return new PlimsollError(
    "database_unreachable",
    "The database cannot be reached just now. Try again.",
    options,
  );
}

export interface ErrorBody {
  error: { code: ErrorCode; message: string; details?: unknown };
}

/** The HTTP status of anything thrown. */
export function statusOf(error: unknown): number {
  return error instanceof PlimsollError ? error.status : STATUS_OF_CODE.internal;
}

/**
 * The one shape an error has on the wire. The text of an unforeseen error stays inside the process:
 * it can carry SQL, paths or user data.
 */
export function toErrorBody(error: unknown): ErrorBody {
  if (!(error instanceof PlimsollError)) {
    return { error: { code: "internal", message: "Something went wrong in the server." } };
  }
  const { code, message, details } = error;
  return { error: details === undefined ? { code, message } : { code, message, details } };
}

/** For an exhaustive text at start-up: the message, then what to do. */
export function describeError(error: unknown): string {
  if (error instanceof PlimsollError) return error.hint ? `${error.message}\n${error.hint}` : error.message;
  return error instanceof Error ? error.message : String(error);
}
