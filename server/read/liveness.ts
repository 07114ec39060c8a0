import { Prisma } from "../db/client.ts";
import type { Session } from "../db/generated/client.ts";

/** When an agent or a session was heard from. Times in epoch ms. */
export interface HeardTimes {
  /** By the clock of its harness. */
  firstAt: number;
  lastAt: number;
  /** By the clock of this server. */
  firstReceivedAt: number;
  lastReceivedAt: number;
}

/** The same as a row holds it. */
export type HeardDates = Pick<Session, "firstAt" | "lastAt" | "firstReceivedAt" | "lastReceivedAt">;

export function heardTimes({ firstAt, lastAt, firstReceivedAt, lastReceivedAt }: HeardDates): HeardTimes {
  return {
    firstAt: firstAt.getTime(),
    lastAt: lastAt.getTime(),
    firstReceivedAt: firstReceivedAt.getTime(),
    lastReceivedAt: lastReceivedAt.getTime(),
  };
}

/** An agent that was active within this many milliseconds, and whose session has not ended, is live. */
export const LIVE_FOR = 30 * 60_000;

/** A live agent without activity for this many milliseconds is silent. */
export const SILENT_AFTER = 10 * 60_000;

/** A shorter time between receipts does not tell a wrong clock from history. */
const LEAST_RECEIPT_MS = 10_000;
/** Receipts of a live agent are as far apart as its events, but for delays on the way. */
const SLOWER = 0.8;
const FASTER = 1.25;
const DELAY_MS = 5_000;

/**
 * When something last happened, by the clock of this server. History that is sent late keeps the time of its events. A
 * harness whose clock is wrong is recognized by receipts that are as far apart as its events.
 */
export function activeAt({ firstAt, lastAt, firstReceivedAt, lastReceivedAt }: HeardTimes): number {
  // An event cannot happen after it was received: the clock of its harness is ahead.
  if (lastAt >= lastReceivedAt - LIVE_FOR) return Math.min(lastAt, lastReceivedAt);
  const events = lastAt - firstAt;
  const receipts = lastReceivedAt - firstReceivedAt;
  const isSteady =
    receipts >= LEAST_RECEIPT_MS && receipts >= events * SLOWER && receipts <= events * FASTER + DELAY_MS;
  return isSteady ? lastReceivedAt : lastAt;
}

/** `activeAt` in SQL, of a row of `agents` or `sessions` under this alias. */
export function activeAtSql(alias: string): Prisma.Sql {
  const [firstAt, lastAt, firstReceived, lastReceived] = [
    "first_at",
    "last_at",
    "first_received_at",
    "last_received_at",
  ].map((column) => `${alias}.${column}`);
  const ms = (time: string) => `${time} * interval '1 ms'`;
  const events = `(${lastAt} - ${firstAt})`;
  const receipts = `(${lastReceived} - ${firstReceived})`;
  return Prisma.raw(`CASE
    WHEN ${lastAt} >= ${lastReceived} - ${ms(String(LIVE_FOR))} THEN LEAST(${lastAt}, ${lastReceived})
    WHEN ${receipts} >= ${ms(String(LEAST_RECEIPT_MS))} AND ${receipts} >= ${events} * ${SLOWER}::float8
      AND ${receipts} <= ${events} * ${FASTER}::float8 + ${ms(String(DELAY_MS))} THEN ${lastReceived}
    ELSE ${lastAt} END`);
}
