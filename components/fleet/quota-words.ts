import { quotaName } from "@plimsoll/fold";
import type { QuotaView } from "@plimsoll/protocol/api";
import type { QuotaForecastReason } from "@plimsoll/protocol/pure";
import { clockMinute, plural, shortTime, within } from "../format.ts";
import { minutesText, type SentencePart } from "./next-agent.ts";

const MINUTE = 60_000;
const HOUR = 60 * MINUTE;
const DAY = 24 * HOUR;

/** A quota that ends later than this is not named beside the next agent. */
const SOON_MS = 5 * HOUR;

/** Whose a quota is: named only where several quotas are called the same. */
export function quotaOwner(
  quota: QuotaView,
  all: readonly QuotaView[],
  people: ReadonlyMap<string, string>,
): string | undefined {
  const name = quotaName(quota);
  if (all.filter((other) => quotaName(other) === name).length === 1) return undefined;
  const { kind, id } = quota.owner;
  if (kind === "person") return people.get(id) ?? "somebody";
  // Enough of a hash to tell the accounts of a person or a team apart.
  return kind === "account" ? `account ${id.slice(0, 6)}` : id;
}

/** The state at a time (epoch ms): a reset passes without an answer of the server. */
export function quotaReason({ forecast, resets_at }: QuotaView, now: number): QuotaForecastReason {
  return now >= Date.parse(resets_at) ? "reset" : forecast.reason;
}

/** What becomes of a quota, such as "used up in 41 min" or "resets in 2 h". */
export function quotaText(quota: QuotaView, now: number, zone?: string): string {
  const resets = Date.parse(quota.resets_at);
  switch (quotaReason(quota, now)) {
    case "reset":
      return `reset at ${(now - resets < DAY ? clockMinute : shortTime)(resets, zone)}, not read since`;
    case "used_up":
      return `used up, resets ${within(resets, now)}`;
    case "rising":
      return `used up ${within(Date.parse(quota.forecast.ends_at!), now)}, resets ${within(resets, now)}`;
    case "not_before_reset":
    case "too_few_readings":
      return `resets ${within(resets, now)}`;
  }
}

/** The share of a quota's window that has passed, 0 to 1; undefined if its length is unknown or the window is over. */
export function elapsedShare({ resets_at, window_minutes }: QuotaView, now: number): number | undefined {
  const left = Date.parse(resets_at) - now;
  if (window_minutes === null || left <= 0) return undefined;
  return Math.max(0, 1 - left / (window_minutes * MINUTE));
}

/** What the sentence about the next agent adds: the quota that ends first, if that is soon. */
export function quotaSentence(quotas: readonly QuotaView[], now: number): SentencePart[] {
  const ends = quotas.flatMap((quota) => {
    const reason = quotaReason(quota, now);
    if (reason === "used_up") return [{ quota, left: 0 }];
    const left = Date.parse(quota.forecast.ends_at ?? "") - now;
    return reason === "rising" && left <= SOON_MS ? [{ quota, left: Math.max(0, left) }] : [];
  });
  const [first, ...others] = ends.sort((a, b) => a.left - b.left);
  if (first === undefined) return [];
  const usedUp = ends.filter(({ left }) => left === 0).length;
  if (usedUp > 1)
    return [{ text: "; " }, { text: plural(usedUp, "quota"), is: "time" }, { text: " are used up" }];
  return [
    { text: `; the ${quotaName(first.quota)} quota is used up` },
    ...(first.left === 0
      ? []
      : [{ text: " in " }, { text: minutesText(Math.ceil(first.left / MINUTE)), is: "time" as const }]),
    ...(others.length === 0 ? [] : [{ text: `, and ${others.length} more soon` }]),
  ];
}
