import type { PrismaClient } from "../db/client.ts";
import type { Sql } from "../db/sql.ts";
import { PlimsollError } from "../errors.ts";
import type { PolicyBook } from "../lines/policy-book.ts";

/** What every read model needs. */
export interface Reader {
  prisma: PrismaClient;
  projectId: number;
  /** The project's policy, as this process knows it. */
  policy: PolicyBook;
  /** Epoch ms. */
  now: number;
}

/** The statements of the store over a reader's client. */
export function queriesOf({ prisma }: Pick<Reader, "prisma">): Pick<Sql, "query"> {
  return { query: (text, ...values) => prisma.$queryRawUnsafe(text, ...values) };
}

/** What is acknowledged and not yet in what a reader sees. */
export interface Behind {
  events: number;
  /** Age of the oldest of them, ms. */
  ms: number;
}

/** A reader that has waited for events acknowledged before it was created. `lag` is what it did not wait out. */
export interface FreshReader extends Reader {
  lag: Behind;
}

/** Waits for the projection of a project, a bounded time. */
export interface FreshnessSource {
  wait(projectId: number): Promise<Behind>;
}

export async function freshReader(reader: Reader, freshness: FreshnessSource): Promise<FreshReader> {
  return { ...reader, lag: await freshness.wait(reader.projectId) };
}

/** An agent that was active within this many milliseconds, and whose session has not ended, is live; see liveness.ts. */
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
