/** At most `most` round steps from 0 to `top`. */
export function levelTicks(top: number, most = 5): number[] {
  if (!(top > 0)) return [0];
  const rough = top / most;
  const power = 10 ** Math.floor(Math.log10(rough));
  const step = [1, 2, 2.5, 5, 10].map((factor) => factor * power).find((size) => top / size <= most)!;
  const ticks: number[] = [];
  for (let index = 0; index * step <= top; index++) ticks.push(Number((index * step).toPrecision(12)));
  return ticks;
}

/** Round whole numbers within a range, about `most` of them. */
export function wholeTicks(from: number, to: number, most = 8): number[] {
  const span = Math.max(1, to - from);
  const power = 10 ** Math.floor(Math.log10(span / most));
  const step = Math.max(
    1,
    [1, 2, 5, 10].map((factor) => factor * power).find((size) => span / size <= most)!,
  );
  const ticks: number[] = [];
  for (let tick = Math.ceil(from / step) * step; tick <= to; tick += step) ticks.push(tick);
  return ticks;
}

const SECOND = 1000;
const MINUTE = 60 * SECOND;
const HOUR = 60 * MINUTE;
const DAY = 24 * HOUR;
const STEPS = [
  SECOND,
  5 * SECOND,
  15 * SECOND,
  30 * SECOND,
  MINUTE,
  2 * MINUTE,
  5 * MINUTE,
  10 * MINUTE,
  15 * MINUTE,
  30 * MINUTE,
  HOUR,
  2 * HOUR,
  3 * HOUR,
  6 * HOUR,
  12 * HOUR,
  DAY,
  2 * DAY,
  7 * DAY,
  14 * DAY,
  30 * DAY,
];

/** Milliseconds from UTC to the viewer's time zone at `at`. */
const localOffset = (at: number) => -new Date(at).getTimezoneOffset() * MINUTE;

/** Times that are round in the viewer's time zone, also across a change of daylight saving time. */
export function timeTicks(
  from: number,
  to: number,
  most = 6,
  offsetAt: (at: number) => number = localOffset,
): number[] {
  const span = to - from;
  if (!(span > 0)) return [from];
  const step = STEPS.find((size) => span / size <= most) ?? 90 * DAY;
  const offset = offsetAt(from);
  const ticks: number[] = [];
  for (let local = Math.ceil((from + offset) / step) * step; ; local += step) {
    const at = local - offsetAt(local - offset);
    if (at > to) return ticks;
    // Local times that the clock skips fall on earlier ticks.
    if (at > (ticks.at(-1) ?? Number.NEGATIVE_INFINITY)) ticks.push(at);
  }
}
