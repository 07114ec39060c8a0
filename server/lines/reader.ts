import type { PrismaClient } from "../db/client.ts";
import type { PolicyBook } from "./policy-book.ts";

/** What every read model needs. */
export interface Reader {
  prisma: PrismaClient;
  projectId: number;
  /** The project's policy, as this process knows it. */
  policy: PolicyBook;
  /** Epoch ms. */
  now: number;
}

/** Acknowledged events that reads do not include yet. */
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
