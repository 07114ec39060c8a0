import { compact, exact, loadPercent, MINUS, money } from "@plimsoll/protocol/pure";

/** Formats numbers and times. The locale is fixed so that server and browser produce the same text. */
const LOCALE = "en-US";

export const NONE = "—";
export { compact, exact, loadPercent, money };

/** 0.2143 as 21.4%. */
export function percent(share: number): string {
  return `${(share * 100).toFixed(1).replace("-", MINUS)}%`;
}

export function signed(value: number, format: (value: number) => string = exact): string {
  if (value === 0) return "±0";
  return value > 0 ? `+${format(value)}` : format(value);
}

export function plural(count: number, one: string, many = `${one}s`): string {
  return `${exact(count)} ${count === 1 ? one : many}`;
}

const SECOND = 1000;
const MINUTE = 60 * SECOND;
const HOUR = 60 * MINUTE;
const DAY = 24 * HOUR;

/** 18 s ago, 3 min ago. A time in the future counts as now. */
export function ago(at: number, now: number): string {
  const passed = now - at;
  if (passed < 2 * SECOND) return "just now";
  if (passed < MINUTE) return `${Math.floor(passed / SECOND)} s ago`;
  if (passed < HOUR) return `${Math.floor(passed / MINUTE)} min ago`;
  if (passed < 2 * DAY) return `${Math.floor(passed / HOUR)} h ago`;
  return `${Math.floor(passed / DAY)} d ago`;
}

/** in 18 s, in 3 min. A time that has passed is now. */
export function within(at: number, now: number): string {
  const left = at - now;
  if (left <= 0) return "now";
  if (left < MINUTE) return `in ${Math.ceil(left / SECOND)} s`;
  if (left < HOUR) return `in ${Math.ceil(left / MINUTE)} min`;
  if (left < 2 * DAY) return `in ${Math.ceil(left / HOUR)} h`;
  return `in ${Math.ceil(left / DAY)} d`;
}

/** Milliseconds until the result of `ago` can change. */
export function agoStep(at: number, now: number): number {
  const passed = now - at;
  if (passed < MINUTE) return SECOND;
  return passed < HOUR ? 10 * SECOND : MINUTE;
}

export function duration(ms: number): string {
  if (ms < SECOND) return `${Math.round(ms)} ms`;
  if (ms < MINUTE) return `${(ms / SECOND).toFixed(1)} s`;
  if (ms < HOUR) return `${Math.floor(ms / MINUTE)} min ${Math.floor((ms % MINUTE) / SECOND)} s`;
  if (ms < DAY) return `${Math.floor(ms / HOUR)} h ${Math.floor((ms % HOUR) / MINUTE)} min`;
  return `${Math.floor(ms / DAY)} d ${Math.floor((ms % DAY) / HOUR)} h`;
}

type TimeZone = string | undefined;

/** 2026-11-20 10:41:18 GMT+1, in the viewer's time zone by default. */
export function fullTime(at: number, timeZone?: TimeZone): string {
  const parts = partsOf(at, timeZone, WITH_ZONE);
  return `${parts.year}-${parts.month}-${parts.day} ${parts.hour}:${parts.minute}:${parts.second} ${parts.timeZoneName}`;
}

/** The reader's time zone in words that hold in summer and winter: "Central European Time". */
export function zoneName(): string {
  const format = new Intl.DateTimeFormat(LOCALE, { timeZoneName: "longGeneric" });
  const name = format.formatToParts().find(({ type }) => type === "timeZoneName")!.value;
  // Zones without a name of their own have their offset there.
  return /^GMT(?:[+-]00:00)?$/.test(name) ? "UTC" : name;
}

export function clock(at: number, timeZone?: TimeZone): string {
  const parts = partsOf(at, timeZone);
  return `${parts.hour}:${parts.minute}:${parts.second}`;
}

/** The time of day without seconds, such as 14:30. */
export function clockMinute(at: number, timeZone?: TimeZone): string {
  const parts = partsOf(at, timeZone);
  return `${parts.hour}:${parts.minute}`;
}

/** A tick label: 10:41, 10:41:15 between minutes, 20 Nov at midnight, and Nov 2026 in spans over 300 days. */
export function axisTime(at: number, span: number, timeZone?: TimeZone): string {
  const { year, day, hour, minute, second } = partsOf(at, timeZone);
  const month = formatOf(SHORT_MONTH, timeZone).format(at);
  if (span > 300 * DAY) return `${month} ${year}`;
  if (second !== "00") return `${hour}:${minute}:${second}`;
  return hour === "00" && minute === "00" ? `${Number(day)} ${month}` : `${hour}:${minute}`;
}

/** 20 November 2026. */
export function day(at: number, timeZone?: TimeZone): string {
  const parts = partsOf(at, timeZone);
  const month = formatOf(LONG_MONTH, timeZone).format(at);
  return `${Number(parts.day)} ${month} ${parts.year}`;
}

export function shortTime(at: number, timeZone?: TimeZone, { year = false } = {}): string {
  const parts = partsOf(at, timeZone);
  const month = formatOf(SHORT_MONTH, timeZone).format(at);
  return `${Number(parts.day)} ${month}${year ? ` ${parts.year}` : ""} ${parts.hour}:${parts.minute}`;
}

/** Both ends of a range, with years unless both are in the year of `now`. */
export function rangeText(from: number, to: number, now: number, timeZone?: TimeZone): string {
  const years = new Set([from, to, now].map((at) => partsOf(at, timeZone).year));
  return [from, to].map((at) => shortTime(at, timeZone, { year: years.size > 1 })).join(" – ");
}

const PARTS: Intl.DateTimeFormatOptions = {
  year: "numeric",
  month: "2-digit",
  day: "2-digit",
  hour: "2-digit",
  minute: "2-digit",
  second: "2-digit",
  hourCycle: "h23",
};
const WITH_ZONE: Intl.DateTimeFormatOptions = { ...PARTS, timeZoneName: "short" };
const SHORT_MONTH: Intl.DateTimeFormatOptions = { month: "short" };
const LONG_MONTH: Intl.DateTimeFormatOptions = { month: "long" };

const formats = new Map<Intl.DateTimeFormatOptions, Map<TimeZone, Intl.DateTimeFormat>>();

/** Creating a format takes longer than using it, and a page formats hundreds of times. `options` is a constant above. */
function formatOf(options: Intl.DateTimeFormatOptions, timeZone: TimeZone): Intl.DateTimeFormat {
  let byZone = formats.get(options);
  if (byZone === undefined) {
    byZone = new Map();
    formats.set(options, byZone);
  }
  let format = byZone.get(timeZone);
  if (format === undefined) {
    format = new Intl.DateTimeFormat(LOCALE, { ...options, timeZone });
    byZone.set(timeZone, format);
  }
  return format;
}

function partsOf(at: number, timeZone: TimeZone, options = PARTS): Record<string, string> {
  const parts = formatOf(options, timeZone).formatToParts(at);
  return Object.fromEntries(parts.map(({ type, value }) => [type, value]));
}
