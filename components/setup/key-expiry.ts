import type { KeyView } from "@plimsoll/protocol/api";
import { keyState } from "@plimsoll/protocol/pure";
import { ago, plural } from "../format.ts";

const MINUTE = 60_000;
const HOUR = 60 * MINUTE;
export const DAY = 24 * HOUR;

/** 12 days, 23 hours, 5 minutes: rounded, so that a new key of 30 days says so. */
function span(ms: number): string {
  if (ms < MINUTE) return "less than a minute";
  if (ms < HOUR) return plural(Math.round(ms / MINUTE), "minute");
  if (ms < 2 * DAY) return plural(Math.round(ms / HOUR), "hour");
  return plural(Math.round(ms / DAY), "day");
}

/** When a key stops or stopped working; null if it never does. */
export function expiryText(key: KeyView, now: number): string | null {
  const { expires_at } = key;
  switch (keyState(key, now)) {
    case "revoked":
      return "revoked";
    case "expired":
      return `expired ${ago(Date.parse(expires_at ?? ""), now)}`;
    case "replaced":
      return expires_at === null ? null : `ends in ${span(Date.parse(expires_at) - now)}`;
    default:
      return expires_at === null ? null : `expires in ${span(Date.parse(expires_at) - now)}`;
  }
}

/** Milliseconds after which a list of keys reads otherwise: a key that is about to expire says so to the second. */
export function expiryStep(keys: readonly KeyView[], now: number): number {
  const soon = keys.some(({ expires_at }) => {
    const left = expires_at === null ? Number.POSITIVE_INFINITY : Date.parse(expires_at) - now;
    return left > 0 && left <= 2 * MINUTE;
  });
  return soon ? 1_000 : MINUTE / 2;
}

/** The key that a key replaced or is replaced by. */
export function relationText(key: KeyView, keys: readonly KeyView[]): string | null {
  const successor = keys.find(({ id }) => id === key.replaced_by);
  if (successor !== undefined) return `replaced by ${successor.prefix}…`;
  const predecessor = keys.find(({ replaced_by }) => replaced_by === key.id);
  return predecessor === undefined ? null : `replaces ${predecessor.prefix}…`;
}

export const LIFETIMES = [
  { value: "never", label: "Never" },
  { value: "30", label: "In 30 days" },
  { value: "90", label: "In 90 days" },
  { value: "365", label: "In 365 days" },
  { value: "date", label: "On a date" },
] as const;
export type Lifetime = (typeof LIFETIMES)[number]["value"];

/**
 * The expiry that a form asks for, as an RFC 3339 time; undefined for never, null while the date is missing or over.
 * @param date `2027-03-03`; the key expires when that day begins, in the zone of the viewer
 * @param now epoch milliseconds
 */
export function chosenExpiry(lifetime: Lifetime, date: string, now: number): string | undefined | null {
  if (lifetime === "never") return undefined;
  const at = lifetime === "date" ? Date.parse(`${date}T00:00:00`) : now + Number(lifetime) * DAY;
  return Number.isNaN(at) || at <= now ? null : new Date(at).toISOString();
}
