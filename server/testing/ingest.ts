import { DEFAULT_THRESHOLDS } from "@plimsoll/protocol";
import { pino } from "pino";
import type { PrismaClient } from "../db/client.ts";
import { openWriters } from "../db/sql.ts";
import { Ingest } from "../ingest/ingest.ts";
import { ModelNumbers } from "../ingest/models.ts";
import { testDatabase } from "./database.ts";

/** Models whose window is known, in tokens. */
const WINDOWS: Record<string, number> = { "model-a": 10_000, "model-b": 200_000 };

export interface TestIngest {
  prisma: PrismaClient;
  /** The write path as a server just started has it: it knows nothing of what another one wrote. */
  start(): Ingest;
  close(): Promise<void>;
}

/** The write path on a database of its own. `now` is the time it is received at, epoch ms. */
export async function testIngest(now: number): Promise<TestIngest> {
  const log = pino({ level: "silent" });
  const database = await testDatabase();
  const { prisma } = database;
  const writers = openWriters({ url: database.url, size: 3, log });
  return {
    prisma,
    start: () =>
      new Ingest({
        prisma,
        writers,
        models: new ModelNumbers(prisma),
        thresholds: () => DEFAULT_THRESHOLDS,
        lookups: () => ({ configured: () => undefined, catalog: (model) => WINDOWS[model] }),
        log,
        committed: () => {},
        clock: () => now,
      }),
    async close() {
      await writers.end();
      await database.close();
    },
  };
}
