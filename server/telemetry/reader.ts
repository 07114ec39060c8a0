import type { Thresholds } from "@plimsoll/protocol";
import type { PrismaClient } from "../db/client.ts";
import { PlimsollError } from "../errors.ts";
import type { Totals } from "../ingest/totals.ts";

/** What every read model needs. */
export interface Reader {
  prisma: PrismaClient;
  projectId: number;
  thresholds: Thresholds;
  /** Epoch ms. */
  now: number;
}

/** For who reads sessions, rollups, harnesses or counts: what was committed before it was made is in them. */
export interface SettledReader extends Reader {
  settled: true;
}

export async function settled(reader: Reader, totals: Pick<Totals, "settle">): Promise<SettledReader> {
  await totals.settle();
  return { ...reader, settled: true };
}

/** An agent heard from within this many milliseconds, whose session has not ended, is live. */
export const LIVE_FOR = 30 * 60_000;

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
