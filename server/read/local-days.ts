import { HOUR_MS, type Span } from "../times.ts";

/** A day of a time zone. Epoch ms; `to` is exclusive. */
export interface LocalDay extends Span {
  /** Such as `2026-11-27`. */
  day: string;
}

/** Every offset from UTC is a whole number of these. */
const QUARTER_MS = HOUR_MS / 4;
/** No day is shorter than the first. */
const STEPS = [20 * HOUR_MS, HOUR_MS, QUARTER_MS];

/**
 * The latest days of a time zone that a span touches, oldest first.
 * @param most how many
 */
export function localDays({ from, to }: Span, timeZone: string, most: number): LocalDay[] {
  const format = new Intl.DateTimeFormat("en-US", {
    timeZone,
    year: "numeric",
    month: "2-digit",
    day: "2-digit",
  });
  const days: LocalDay[] = [];
  const last = Math.ceil(to / QUARTER_MS) * QUARTER_MS - QUARTER_MS;
  let end = edgeOf(last, 1) + QUARTER_MS;
  while (end > from && days.length < most) {
    const start = edgeOf(end - QUARTER_MS, -1);
    days.unshift({ day: dateOf(start), from: start, to: end });
    end = start;
  }
  return days;

  /** The first, or the last, quarter of an hour with the same date. */
  function edgeOf(at: number, direction: 1 | -1): number {
    const date = dateOf(at);
    let edge = at;
    for (const step of STEPS) while (dateOf(edge + direction * step) === date) edge += direction * step;
    return edge;
  }

  function dateOf(at: number): string {
    const parts = new Map(format.formatToParts(at).map(({ type, value }) => [type, value]));
    return `${parts.get("year")}-${parts.get("month")}-${parts.get("day")}`;
  }
}
