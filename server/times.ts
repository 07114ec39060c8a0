import { PlimsollError } from "./errors.ts";

export const HOUR_MS = 3_600_000;
export const DAY_MS = 24 * HOUR_MS;

export interface Span {
  /** Epoch ms, inclusive. */
  from: number;
  /** Epoch ms, exclusive. */
  to: number;
}

/** @throws PlimsollError `bad_request` when the range ends before it begins: its answer would be a misleading nothing */
export function spanOf(range: { from: string; to: string }): Span {
  const span = { from: Date.parse(range.from), to: Date.parse(range.to) };
  if (span.to <= span.from) throw new PlimsollError("bad_request", '"from" must lie before "to".');
  return span;
}

export function iso(date: Date | number): string {
  return (typeof date === "number" ? new Date(date) : date).toISOString();
}
