import { setTimeout as delay } from "node:timers/promises";
import type { Logger } from "pino";
import type { PrismaClient } from "../../db/index.ts";
import type { Sql } from "../../db/sql.ts";
import { deleteProjectStep } from "./delete-step.ts";

export interface DeletionOptions {
  prisma: Pick<PrismaClient, "$queryRaw">;
  /** Runs `work` in a transaction of its own. */
  transaction: <T>(work: (sql: Sql) => Promise<T>) => Promise<T>;
  log: Logger;
  /** Waits; ends early, without an error, when aborted. */
  sleep?: (ms: number, signal: AbortSignal) => Promise<void>;
  /** How long after its marking a project is left alone, in ms. */
  graceMs?: number;
}

export interface Deletion {
  /** Resolves when the step under way is over. The rest is done by another process or after the next start. */
  stop(): Promise<void>;
}

/** Longer than any process trusts a cached key or project (30 s), so that no straggler writes rows after the last step. */
const GRACE_MS = 60_000;
/** Between two looks, in ms. */
const LOOK_MS = 30_000;
/** Between two steps, in ms: ingestion and reads come first. */
const PAUSE_MS = 100;

/** Deletes projects that are marked for it, also those an earlier process left unfinished. Every process runs one. */
export function startDeletion(options: DeletionOptions): Deletion {
  const { prisma, transaction, log, sleep = quietDelay, graceMs = GRACE_MS } = options;
  const stopping = new AbortController();

  /** Compared on the database's clock: server clocks may differ by more than the grace period. */
  async function due(): Promise<number[]> {
    const rows = await prisma.$queryRaw<{ id: number }[]>`
      SELECT id FROM projects WHERE deleting_at <= now() - ${graceMs}::float8 * interval '1 millisecond' ORDER BY id`;
    return rows.map(({ id }) => id);
  }

  async function remove(projectId: number): Promise<void> {
    let steps = 1;
    while (await transaction((sql) => deleteProjectStep(sql, projectId))) {
      steps += 1;
      await sleep(PAUSE_MS, stopping.signal);
      if (stopping.signal.aborted) return;
    }
    log.info({ projectId, steps }, "project deleted");
  }

  async function run(): Promise<void> {
    while (!stopping.signal.aborted) {
      try {
        for (const projectId of await due()) {
          await remove(projectId);
          if (stopping.signal.aborted) return;
        }
      } catch (err) {
        log.warn({ err }, "deleting a project was interrupted and will be resumed");
      }
      await sleep(LOOK_MS, stopping.signal);
    }
  }

  const running = run();
  return {
    async stop() {
      stopping.abort();
      await running;
    },
  };
}

async function quietDelay(ms: number, signal: AbortSignal): Promise<void> {
  await delay(ms, undefined, { signal, ref: false }).catch(() => {});
}
