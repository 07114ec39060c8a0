import { type ErrorCode, PlimsollError } from "../errors.ts";
import { isStaleStatement } from "./prepared-statements.ts";

/** Why a statement failed although nothing is wrong with it. The same statement may succeed later. */
export type UnavailableReason =
  | "disk_full"
  | "read_only"
  | "out_of_memory"
  | "too_many_connections"
  | "pool_timeout"
  | "timeout"
  | "no_answer"
  | "lock_timeout"
  | "conflict"
  | "stale_statement"
  | "login_refused"
  | "starting"
  | "connection";

interface Meaning {
  code: ErrorCode;
  /** For the caller. */
  words: string;
  /** Seconds after which trying again makes sense. */
  retryAfter: number;
}

const MEANINGS: Record<UnavailableReason, Meaning> = {
  disk_full: {
    code: "disk_full",
    words: "The disk is full, so the database cannot store anything.",
    retryAfter: 30,
  },
  read_only: {
    code: "database_unreachable",
    words: "The database is read-only, so it cannot store anything.",
    retryAfter: 10,
  },
  out_of_memory: { code: "overloaded", words: "The database is out of memory.", retryAfter: 5 },
  too_many_connections: { code: "overloaded", words: "The database has no connection left.", retryAfter: 5 },
  pool_timeout: { code: "overloaded", words: "Every connection to the database is busy.", retryAfter: 2 },
  timeout: { code: "overloaded", words: "The database took too long to answer.", retryAfter: 2 },
  no_answer: { code: "database_unreachable", words: "The database does not answer.", retryAfter: 1 },
  lock_timeout: {
    code: "overloaded",
    words: "The database waited too long for another transaction.",
    retryAfter: 1,
  },
  conflict: {
    code: "overloaded",
    words: "Another transaction changed the same rows at the same time.",
    retryAfter: 1,
  },
  stale_statement: {
    code: "overloaded",
    words: "The tables of the database are being changed.",
    retryAfter: 1,
  },
  login_refused: {
    code: "database_unreachable",
    words: "The database refuses the server's login.",
    retryAfter: 10,
  },
  starting: { code: "database_unreachable", words: "The database is starting or stopping.", retryAfter: 1 },
  connection: { code: "database_unreachable", words: "The database cannot be reached.", retryAfter: 1 },
};

/** SQLSTATEs of PostgreSQL, and of poolers in front of it. */
const STATES: [pattern: RegExp, reason: UnavailableReason][] = [
  [/^53100$/, "disk_full"],
  [/^25006$/, "read_only"],
  [/^53300$/, "too_many_connections"],
  [/^53/, "out_of_memory"],
  [/^57P03$/, "starting"],
  [/^(57014|25P03|25P04)$/, "timeout"],
  [/^55P03$/, "lock_timeout"],
  [/^40(001|P01)$/, "conflict"],
  [/^(28000|28P01|3D000)$/, "login_refused"],
  [/^(08|57P)/, "connection"],
];

/** Codes of Node, and codes and kinds of Prisma. */
const CODES: Record<string, UnavailableReason> = {
  ENOSPC: "disk_full",
  EDQUOT: "disk_full",
  ECONNREFUSED: "connection",
  ECONNRESET: "connection",
  EPIPE: "connection",
  ETIMEDOUT: "connection",
  EHOSTUNREACH: "connection",
  ENETUNREACH: "connection",
  ENOTFOUND: "connection",
  EAI_AGAIN: "connection",
  P1000: "login_refused",
  P1001: "connection",
  P1002: "connection",
  P1008: "timeout",
  P1017: "connection",
  P2024: "pool_timeout",
  P2028: "timeout",
  P2034: "conflict",
  P2037: "too_many_connections",
  AuthenticationFailed: "login_refused",
  ConnectionClosed: "connection",
  DatabaseAccessDenied: "login_refused",
  DatabaseNotReachable: "connection",
  SocketTimeout: "connection",
  TooManyConnections: "too_many_connections",
  TransactionWriteConflict: "conflict",
};

/** Errors of the driver and its pool, which have no code. */
const MESSAGES: [pattern: RegExp, reason: UnavailableReason][] = [
  [/No space left on device|Disk quota exceeded/i, "disk_full"],
  [/Read-only file system/i, "read_only"],
  [/^Query read timeout/, "no_answer"],
  [/timeout exceeded when trying to connect/, "pool_timeout"],
  [/Unable to start a transaction in the given time/, "pool_timeout"],
  [/Transaction API error/, "timeout"],
  [/connect (E[A-Z]+)|write (EPIPE|ECONNRESET)|read ECONNRESET/, "connection"],
  [/Connection (terminated|ended)|(connection|connect) timeout|timeout expired/i, "connection"],
  [/connection error and is not queryable|was closed and is not queryable/, "connection"],
  [/Cannot use a pool after calling end/, "connection"],
  [/Can't reach database|Server has closed the connection|terminating connection/, "connection"],
  // Of Citus, about one of its workers.
  [/^failure on connection marked as essential/m, "connection"],
  [/the database system is|not yet accepting connections/, "starting"],
];

/**
 * Tells why the database could not do something that it may well do later.
 * @returns undefined for every other error, such as a constraint that is violated
 */
export function unavailableReason(error: unknown): UnavailableReason | undefined {
  for (const cause of causesOf(error)) {
    if (isStaleStatement(cause)) return "stale_statement";
    const reason = reasonOf(cause);
    if (reason !== undefined) return reason;
  }
  return undefined;
}

/** What `reason` means, for a person. */
export const reasonInWords = (reason: UnavailableReason): string => MEANINGS[reason].words;

/** True when the same statement may succeed later. */
export function isUnavailable(error: unknown): boolean {
  return unavailableReason(error) !== undefined;
}

/** True when it took too long. Less work at once may succeed. */
export function isTimeout(error: unknown): boolean {
  const reason = unavailableReason(error);
  return reason === "timeout" || reason === "no_answer";
}

/** True when it failed only because another transaction ran at the same time. */
export function isConflict(error: unknown): boolean {
  return unavailableReason(error) === "conflict";
}

/**
 * The error for a caller whose request the database could not serve: always status 503 with Retry-After.
 * @param cause what the database or the driver said; unknown causes count as a lost connection
 */
export function databaseUnavailable(cause?: unknown): PlimsollError {
  const { code, words, retryAfter } = MEANINGS[unavailableReason(cause) ?? "connection"];
  return new PlimsollError(code, `${words} Try again.`, {
    details: { retry_after_seconds: retryAfter },
    ...(cause === undefined ? {} : { cause }),
  });
}

/** SQLSTATEs have five characters. So have codes of Prisma, such as P2010, and of Node, such as EPIPE. */
const isState = (code: string) => /^[0-9A-Z]{5}$/.test(code) && !/^(P[1-9]|E)/.test(code);

/** SQLSTATEs for errors of the system, which only their message tells apart. */
const SYSTEM_ERROR = /^(XX|58)/;

function reasonOf({ codes, message }: Cause): UnavailableReason | undefined {
  const state = codes.find(isState);
  // Any other message can quote what an agent wrote.
  if (state !== undefined && !SYSTEM_ERROR.test(state))
    return STATES.find(([pattern]) => pattern.test(state))?.[1];
  // The message repeats that of its cause, which is looked at next.
  if (codes.includes("P2010")) return undefined;
  const known = codes.find((code) => code in CODES);
  return (
    MESSAGES.find(([pattern]) => pattern.test(message))?.[1] ??
    (known === undefined ? undefined : CODES[known])
  );
}

interface Cause {
  code: string | undefined;
  codes: string[];
  message: string;
}

/** An error and everything that caused it. Prisma hides the driver's error under `meta`. */
function causesOf(error: unknown): Cause[] {
  const found: Cause[] = [];
  const rest: unknown[] = [error];
  while (rest.length > 0 && found.length < 20) {
    const at = rest.shift();
    if (typeof at !== "object" || at === null) continue;
    const facts = at as Record<string, unknown>;
    const { code, originalCode, kind, message, originalMessage, meta, cause, errors } = facts;
    const { code: metaCode, driverAdapterError } = (meta ?? {}) as Record<string, unknown>;
    const codes = [originalCode, code, kind, metaCode].filter((one) => typeof one === "string");
    found.push({
      code: codes[0],
      codes,
      message: [message, originalMessage].filter((one) => typeof one === "string").join("\n"),
    });
    rest.push(cause, driverAdapterError, ...(Array.isArray(errors) ? errors : []));
  }
  return found;
}
