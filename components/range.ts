/** The time range of a page: relative, or between two instants. Stored in the URL as `range`. */
export const QUICK_RANGES = ["1h", "6h", "24h", "7d", "30d", "90d", "all"] as const;
export type QuickRange = (typeof QUICK_RANGES)[number];
export type RangeChoice = { last: QuickRange } | { from: number; to: number };

export const DEFAULT_RANGE: RangeChoice = { last: "24h" };

const HOUR = 3_600_000;
const MINUTE = 60_000;
const SPANS: Readonly<Record<Exclude<QuickRange, "all">, number>> = {
  "1h": HOUR,
  "6h": 6 * HOUR,
  "24h": 24 * HOUR,
  "7d": 168 * HOUR,
  "30d": 720 * HOUR,
  "90d": 2160 * HOUR,
};
const LABELS: Readonly<Record<QuickRange, string>> = {
  "1h": "Last hour",
  "6h": "Last 6 hours",
  "24h": "Last 24 hours",
  "7d": "Last 7 days",
  "30d": "Last 30 days",
  "90d": "Last 90 days",
  all: "All time",
};

export function quickLabel(quick: QuickRange): string {
  return LABELS[quick];
}

/** Ranges of the calendar, in the time zone of the browser. */
export const DAY_RANGES = ["Today", "Yesterday", "This night"] as const;
export type DayRange = (typeof DAY_RANGES)[number];

/** A night is from 22:00 to 8:00: from 22:00 on the one that begins, before that the one that ended last. */
export function dayRange(day: DayRange, now: number): { from: number; to: number } {
  const date = new Date(now);
  const at = (days: number, hour: number) =>
    new Date(date.getFullYear(), date.getMonth(), date.getDate() + days, hour).getTime();
  if (day === "Today") return { from: at(0, 0), to: at(1, 0) };
  if (day === "Yesterday") return { from: at(-1, 0), to: at(0, 0) };
  const first = date.getHours() >= 22 ? 0 : -1;
  return { from: at(first, 22), to: at(first + 1, 8) };
}

export function parseRange(text: string): RangeChoice | null {
  if ((QUICK_RANGES as readonly string[]).includes(text)) return { last: text as QuickRange };
  const [from, to, ...rest] = text.split("..").map((part) => Date.parse(part));
  if (rest.length > 0 || from === undefined || to === undefined || !(from < to)) return null;
  return { from, to };
}

export function serializeRange(choice: RangeChoice): string {
  if ("last" in choice) return choice.last;
  return `${iso(choice.from)}..${iso(choice.to)}`;
}

export interface Period {
  from: string;
  to: string;
  /** Milliseconds. */
  span: number;
}

/** Whether a choice needs to know when the history begins. */
export function isAllTime(choice: RangeChoice): boolean {
  return "last" in choice && choice.last === "all";
}

/**
 * Converts a choice to ISO 8601 instants. A relative range ends at the end of the current minute: its queries keep
 * one cache key for a minute, and the newest events are inside.
 * @param begin start of the recorded history, for all time; null if there is none
 */
export function resolveRange(choice: RangeChoice, now: number, begin: string | null = null): Period {
  const to = "last" in choice ? Math.floor(now / MINUTE) * MINUTE + MINUTE : choice.to;
  const from = startOf(choice, to, begin);
  return { from: iso(from), to: iso(to), span: to - from };
}

function startOf(choice: RangeChoice, to: number, begin: string | null): number {
  if (!("last" in choice)) return choice.from;
  if (choice.last !== "all") return to - SPANS[choice.last];
  return Math.min(begin === null ? to : Date.parse(begin), to - HOUR);
}

/** Charts leave out the time before the first event if it is at least this share of the range. */
const EMPTY_SHARE = 1 / 4;
/** The shortest range that they then show. */
const LEAST_SPAN = 15 * MINUTE;

/**
 * The part of a relative range that has data, for charts: a young project would fill a sliver of a day. A range that somebody
 * chose by its ends stays as it is.
 * @param begin start of the recorded history; null if there is none
 * @returns `since` is the start of the history if the time before is left out, in epoch ms
 */
export function rangeWithData(
  choice: RangeChoice,
  period: Period,
  begin: string | null,
): Period & { since: number | null } {
  const [from, to] = [Date.parse(period.from), Date.parse(period.to)];
  const first = begin === null ? from : Date.parse(begin);
  if (!("last" in choice) || first < from + period.span * EMPTY_SHARE) return { ...period, since: null };
  const shown = Math.max(from, Math.min(first, to - LEAST_SPAN));
  return { from: iso(shown), to: period.to, span: to - shown, since: first };
}

const STEPS = [60, 120, 300, 600, 900, 1800, 3600, 7200, 10_800, 21_600, 43_200, 86_400, 172_800, 604_800];

/** A round bucket length in seconds that divides `span` ms into at most `most` buckets. */
export function stepFor(span: number, most: number): number {
  const least = span / 1000 / most;
  return STEPS.find((step) => step >= least) ?? 2_678_400;
}

function iso(at: number): string {
  return new Date(at).toISOString();
}

/** A range that has all events of a session. */
export const sessionRange = ({ first_at, last_at }: { first_at: string; last_at: string }) => ({
  from: first_at,
  to: new Date(Date.parse(last_at) + 1).toISOString(),
});
