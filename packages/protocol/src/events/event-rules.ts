import type { OutcomeCount } from "../terms.ts";

/** Most characters (UTF-16 units) of an event's names. */
export const LONGEST = {
  id: 128,
  harness: 128,
  session: 256,
  agent: 128,
  model: 200,
  machine: 128,
  repository: 256,
  branch: 256,
  /** Of a provider, and of its limit. */
  quota: 64,
} as const;

/** Largest numbers an event may hold. Three counts of tokens are added up, and their sum must fit PostgreSQL's integer. */
export const LARGEST = {
  tokens: 700_000_000,
  integer: 2_147_483_647,
  window: 1_000_000,
  costUsd: 2_000,
  /** Of one turn; what is more counts as that many. */
  outcome: 63,
  quotaPercent: 1_000,
} as const;

/** Who speaks when an event does not say. */
export const DEFAULT_AGENT = "main";

const EARLIEST = Date.UTC(2000, 0, 1);
const LATEST = Date.UTC(2100, 0, 1);
const RFC3339 = /^\d{4}-\d{2}-\d{2}[Tt ]\d{2}:\d{2}:\d{2}(\.\d+)?([Zz]|[+-]\d{2}:?\d{2})$/;
/** Where `:ss` stands in an RFC 3339 time. */
const SECONDS_AT = 16;
const MINUTE_MS = 60_000;
const DAY_MS = 1_440 * MINUTE_MS;
/** Of a day, 23:59. */
const LAST_MINUTE = 1_439;
/** Days every month has. */
const SHORTEST_MONTH = 28;

/** Epoch ms of an RFC 3339 time, or of epoch ms with a fraction; NaN when it is neither. */
export function instantMs(value: number | string): number {
  return typeof value === "number" ? Math.round(value) : rfc3339Ms(value);
}

function rfc3339Ms(value: string): number {
  if (!RFC3339.test(value)) return Number.NaN;
  const day = Number(value.slice(8, 10));
  // Date.parse reads 30 February as 2 March.
  if (day > SHORTEST_MONTH && day > daysInMonth(value)) return Number.NaN;
  return value.startsWith(":60", SECONDS_AT) ? leapSecondMs(value) : Date.parse(value);
}

/** A second that Unix time does not have counts as the last millisecond before it. UTC ends no other minute so. */
function leapSecondMs(value: string): number {
  const minute = Date.parse(`${value.slice(0, SECONDS_AT)}:00${value.slice(SECONDS_AT + 3)}`);
  const isLast = Math.floor((minute % DAY_MS) / MINUTE_MS) === LAST_MINUTE;
  return isLast ? minute - (minute % MINUTE_MS) + MINUTE_MS - 1 : Number.NaN;
}

function daysInMonth(value: string): number {
  return new Date(Date.UTC(Number(value.slice(0, 4)), Number(value.slice(5, 7)), 0)).getUTCDate();
}

/** Whether a time (epoch ms) lies in the years an event may be of. */
export function isInRange(ms: number): boolean {
  return ms >= EARLIEST && ms <= LATEST;
}

/** The largest count of an outcome; more count as this. Nine counts are packed into one number, and the ninth has the bits that are left. */
export const mostOf = (name: OutcomeCount): number => (name === "retried" ? 1 : LARGEST.outcome);
