import type { Series } from "@plimsoll/protocol/api";

/** A range that moves by less than this share of itself moves the picture by about a pixel. */
const VISIBLE_SHARE = 1 / 1_000;

/** Whether a chart of one series looks like that of the other. A range relative to now moves every minute. */
export function isSameSeries(one: Series | undefined, other: Series | undefined): boolean {
  if (one === undefined || other === undefined) return one === other;
  const { range, ...values } = one;
  const { range: otherRange, ...otherValues } = other;
  const [from, to] = [Date.parse(range.from), Date.parse(range.to)];
  const visible = (to - from) * VISIBLE_SHARE;
  return (
    Math.abs(Date.parse(otherRange.from) - from) < visible &&
    Math.abs(Date.parse(otherRange.to) - to) < visible &&
    isSameData(values, otherValues)
  );
}

/** Whether two answers of the server say the same. */
export function isSameData(one: unknown, other: unknown): boolean {
  return one === other || JSON.stringify(one) === JSON.stringify(other);
}
