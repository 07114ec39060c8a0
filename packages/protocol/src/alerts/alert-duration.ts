import { z } from "zod";

const UNITS = { s: 1_000, m: 60_000, h: 3_600_000, d: 86_400_000 } as const;
const MOST_MS = 30 * UNITS.d;

/** Milliseconds of a duration such as `90s`, `5m`, `4h` or `1d`; NaN if it is none. */
export function durationMs(text: string): number {
  const [, count, unit] = /^(\d{1,6})([smhd])$/.exec(text) ?? [];
  return count === undefined ? Number.NaN : Number(count) * UNITS[unit as keyof typeof UNITS];
}

/** A duration as people write it: a whole number and `s`, `m`, `h` or `d`. At most 30 days. */
export const AlertDuration = z
  .string()
  .refine(
    (text) => durationMs(text) <= MOST_MS,
    "write a duration of at most 30 days, such as 90s, 5m or 4h",
  );

/** A duration longer than zero. */
export const PositiveDuration = AlertDuration.refine(
  (text) => durationMs(text) !== 0,
  "write a duration longer than 0s, such as 5m",
);
