import { DEFAULT_THRESHOLDS, type FoldOptions } from "@plimsoll/protocol";
import { type Logger, pino } from "pino";
import type { PrismaClient } from "../db/client.ts";
import { openWriters } from "../db/sql.ts";
import { AgentMemory } from "../ingest/agents.ts";
import { Ingest } from "../ingest/ingest.ts";
import { ModelNumbers } from "../ingest/models.ts";
import { Totals } from "../ingest/totals.ts";
import { testDatabase } from "./database.ts";

/** Models whose window is known, in tokens. */
const WINDOWS: Record<string, number> = { "model-a": 10_000, "model-b": 200_000 };

/** How the write path reads what it is told. */
export const TEST_FOLD: FoldOptions = {
  thresholds: DEFAULT_THRESHOLDS,
  lookups: { configured: () => undefined, catalog: (model) => WINDOWS[model] },
};

export interface TestIngest {
  prisma: PrismaClient;
  databaseUrl: string;
  /** The write path as a server just started has it: it knows nothing of what another one wrote. */
  start(): Ingest;
  /** Settles as another server on the same database does. */
  totals: Totals;
  newTotals(log?: Logger): Totals;
  close(): Promise<void>;
}

/** The write path on a database of its own. `now` is the time it is received at, epoch ms. */
export async function testIngest(now: number): Promise<TestIngest> {
  const silent = pino({ level: "silent" });
  const database = await testDatabase();
  const { prisma } = database;
  const writers = openWriters({ url: database.url, size: 8, log: silent });
  const newTotals = (log = silent) => new Totals({ prisma, writers, log });
  return {
    prisma,
    databaseUrl: database.url,
    totals: newTotals(),
    newTotals,
    start: () =>
      new Ingest({
        prisma,
        writers,
        models: new ModelNumbers(prisma),
        agents: new AgentMemory(),
        totals: newTotals(),
        thresholds: () => TEST_FOLD.thresholds,
        lookups: () => TEST_FOLD.lookups,
        log: silent,
        committed: () => {},
        clock: () => now,
      }),
    async close() {
      await writers.end();
      await database.close();
    },
  };
}
