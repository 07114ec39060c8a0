import { randomBytes } from "node:crypto";
import type { Logger } from "pino";
import { isUnavailable } from "../db/unavailable.ts";
import { databaseUnreachable, PlimsollError, statusOf, toErrorBody } from "../errors.ts";

const processPart = randomBytes(4).toString("hex");
let requests = 0;

/** Tells one request from all others, in the log and to whoever reports a failure. Costs next to nothing. */
export function nextRequestId(): string {
  return `${processPart}-${(++requests).toString(36)}`;
}

/** Seconds after which a refused sender may try again, unless the error says better. */
const RETRY_AFTER = 1;

/** The one shape of every failure, with the headers its status asks for. */
export function errorHeaders(error: unknown): Record<string, string> {
  const status = statusOf(error);
  const headers: Record<string, string> = { "Content-Type": "application/json", "Cache-Control": "no-store" };
  if (status === 401) headers["WWW-Authenticate"] = "Bearer";
  if (status === 429 || status === 503) headers["Retry-After"] = String(retryAfter(error));
  return headers;
}

export function errorResponse(error: unknown): Response {
  return new Response(JSON.stringify(toErrorBody(error)), {
    status: statusOf(error),
    headers: errorHeaders(error),
  });
}

/** A database that is away is nothing unforeseen, whoever ran into it. */
export function foreseen(thrown: unknown): unknown {
  if (thrown instanceof PlimsollError || !isUnavailable(thrown)) return thrown;
  return databaseUnreachable(thrown);
}

/** Where it happened, for the log. The path without its query: that may hold anything. */
export interface ErrorPlace {
  method: string;
  path: string;
  requestId: string;
}

/** What the server did wrong is logged with all there is, what the caller did wrong only on request. */
export function logError(log: Logger, error: unknown, place: ErrorPlace): void {
  const status = statusOf(error);
  if (!(error instanceof PlimsollError)) log.error({ err: error, ...place }, "a request failed unforeseen");
  else if (status >= 500) log.warn({ err: error, code: error.code, ...place }, "a request failed");
  else log.debug({ code: error.code, reason: error.message, ...place }, "a request was refused");
}

function retryAfter(error: unknown): number {
  const details = error instanceof PlimsollError ? error.details : undefined;
  const given = (details as { retry_after_seconds?: unknown } | undefined)?.retry_after_seconds;
  return typeof given === "number" && given > 0 ? Math.ceil(given) : RETRY_AFTER;
}
