import { PlimsollError } from "../../errors.ts";

/** A key that lives longer than this is meant to live forever. */
const LONGEST_YEARS = 10;

/**
 * When a new key expires; null: never.
 * @param now epoch milliseconds
 * @throws PlimsollError `invalid_field`
 */
export function checkedExpiry(text: string | null | undefined, now: number): Date | null {
  if (text === null || text === undefined) return null;
  const at = Date.parse(text);
  const latest = new Date(now);
  latest.setUTCFullYear(latest.getUTCFullYear() + LONGEST_YEARS);
  const wrong =
    at <= now
      ? "which is over"
      : at > latest.getTime()
        ? `which is more than ${LONGEST_YEARS} years ahead`
        : undefined;
  if (wrong === undefined) return new Date(at);
  throw new PlimsollError("invalid_field", `expires_at: the key would expire on ${utcDay(at)}, ${wrong}.`, {
    details: { path: "expires_at" },
  });
}

/** When the successor of a key expires: as long after its creation as that key. */
export function nextExpiry(
  { createdAt, expiresAt }: { createdAt: Date; expiresAt: Date | null },
  now: number,
): Date | null {
  return expiresAt === null ? null : new Date(now + expiresAt.getTime() - createdAt.getTime());
}

/** Such as 3 March 2027, in UTC. */
export function utcDay(at: number): string {
  return new Intl.DateTimeFormat("en-GB", {
    day: "numeric",
    month: "long",
    year: "numeric",
    timeZone: "UTC",
  }).format(at);
}
