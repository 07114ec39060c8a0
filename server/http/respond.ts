import { randomBytes } from "node:crypto";
import type { Logger } from "pino";
import { databaseUnavailable, isUnavailable } from "../db/unavailable.ts";
import { PlimsollError, retryAfterSeconds, statusOf, toErrorBody } from "../errors.ts";

const processPart = randomBytes(4).toString("hex");
let requests = 0;

/** An id that is unique to one request, for the log and for error reports. */
export function nextRequestId(): string {
  return `${processPart}-${(++requests).toString(36)}`;
}

/** The headers of an error answer: its content type, and what its status requires. */
export function errorHeaders(error: unknown): Record<string, string> {
  const status = statusOf(error);
  const headers: Record<string, string> = { "Content-Type": "application/json", "Cache-Control": "no-store" };
  if (status === 401) headers["WWW-Authenticate"] = "Bearer";
  if (status === 429 || status === 503) headers["Retry-After"] = String(retryAfterSeconds(error));
  return headers;
}

export function errorResponse(error: unknown): Response {
  return new Response(JSON.stringify(toErrorBody(error)), {
    status: statusOf(error),
    headers: errorHeaders(error),
  });
}

/** That a path leads nowhere. */
export function nothingAt({ method, url = "" }: { method?: string; url?: string }): PlimsollError {
  return new PlimsollError("not_found", `There is nothing at ${method} ${url.split("?", 1)[0]}.`);
}

/** Turns a failure of the database into an error with status 503. Returns any other error unchanged. */
export function foreseen(thrown: unknown): unknown {
  if (thrown instanceof PlimsollError || !isUnavailable(thrown)) return thrown;
  return databaseUnavailable(thrown);
}

/** Where a request failed, for the log. `path` has no query, which can contain user data. */
export interface ErrorPlace {
  method: string;
  path: string;
  requestId: string;
}

/** Logs faults of the server in full, and faults of the caller at debug level. */
export function logError(log: Logger, error: unknown, place: ErrorPlace): void {
  const status = statusOf(error);
  if (!(error instanceof PlimsollError)) log.error({ err: error, ...place }, "a request failed unexpectedly");
  else if (status >= 500) log.warn({ err: error, code: error.code, ...place }, "a request failed");
  else log.debug({ code: error.code, reason: error.message, ...place }, "a request was refused");
}
