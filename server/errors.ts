import type { ErrorBody } from "@plimsoll/protocol/api";

/** The HTTP status of every error code that the server answers, or prints when it cannot start. */
export const STATUS_OF_CODE = {
  bad_request: 400,
  invalid_field: 400,
  unknown_type: 400,
  invalid_policy: 400,
  invalid_alert_rule: 400,
  unauthenticated: 401,
  forbidden_scope: 403,
  forbidden_role: 403,
  wrong_project: 403,
  project_archived: 403,
  not_found: 404,
  conflict: 409,
  policy_changed: 412,
  alert_rule_changed: 412,
  alert_endpoint_changed: 412,
  too_large: 413,
  unsupported_media_type: 415,
  quota_exceeded: 429,
  internal: 500,
  overloaded: 503,
  // Start-up errors. They reach HTTP only when the condition appears in a running server.
  port_in_use: 500,
  data_folder_unwritable: 500,
  data_folder_damaged: 500,
  disk_full: 503,
  database_unreachable: 503,
  database_unsafe: 500,
  setting_invalid: 500,
  postgres_binaries_missing: 500,
  root_unsupported: 500,
  stopped: 503,
} as const;

export type ErrorCode = keyof typeof STATUS_OF_CODE;

export interface PlimsollErrorOptions {
  /** Machine-readable facts, sent to the caller. Must not contain secrets. */
  details?: unknown;
  /** What a person can do about it. Printed at start-up, never sent over HTTP. */
  hint?: string;
  cause?: unknown;
}

/** The only error class of the server. Anything else thrown is a bug and is answered as `internal`. */
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

/** The HTTP status of anything thrown. */
export function statusOf(error: unknown): number {
  return error instanceof PlimsollError ? error.status : STATUS_OF_CODE.internal;
}

/** Whole seconds after which whoever met this error with status 429 or 503 may try again; 1 unless it gives a time. */
export function retryAfterSeconds(error: unknown): number {
  const details = error instanceof PlimsollError ? error.details : undefined;
  const given = (details as { retry_after_seconds?: unknown } | undefined)?.retry_after_seconds;
  return typeof given === "number" && given > 0 ? Math.ceil(given) : 1;
}

/**
 * The shape of every error on the wire. The text of an unexpected error stays inside the process, because it
 * can contain SQL, paths or user data.
 */
export function toErrorBody(error: unknown): ErrorBody {
  if (!(error instanceof PlimsollError)) {
    return { error: { code: "internal", message: "Something went wrong in the server." } };
  }
  const { code, message, details } = error;
  return { error: details === undefined ? { code, message } : { code, message, details } };
}

/** The text of an error at start-up: the message, then what to do. */
export function describeError(error: unknown): string {
  if (error instanceof PlimsollError) return error.hint ? `${error.message}\n${error.hint}` : error.message;
  return error instanceof Error ? error.message : String(error);
}
