import type { Logger } from "pino";
import type { Sql, Writers } from "../db/sql.ts";
import { KEPT_REFUSALS } from "../store/ingest-refusals.ts";

/** Refused events that share a harness, a type, a reason and a field. Unknown names are empty. */
export interface RefusedEvents {
  harness: string;
  type: string;
  code: string;
  path: string;
  message: string;
  /** See `redactEvent`. */
  example: string;
  count: number;
}

/** Milliseconds between two writes. */
const WRITE_EVERY_MS = 1_000;
/** Faults that wait to be written at most, for each project. */
const MOST_WAITING = 100;

export const refusalKey = ({
  harness,
  type,
  code,
  path,
}: Omit<RefusedEvents, "message" | "example" | "count">) => JSON.stringify([harness, type, code, path]);

const ALIVE = `
SELECT (extract(epoch FROM clock_timestamp()) * 1000)::float8 AS now FROM projects
WHERE id = $1 AND deleting_at IS NULL FOR KEY SHARE`;

const ADD = `
INSERT INTO ingest_refusals AS kept
  (project_id, harness, type, code, path, message, example, count, first_at, last_at)
SELECT $1, r.harness, r.type, r.code, r.path, r.message, r.example, r.count, t.now, t.now
FROM jsonb_to_recordset($2::jsonb)
  AS r(harness text, type text, code text, path text, message text, example text, count bigint)
CROSS JOIN (SELECT to_timestamp($3::float8 / 1000) AS now) t
ORDER BY r.harness, r.type, r.code, r.path
ON CONFLICT (project_id, harness, type, code, path) DO UPDATE
SET message = EXCLUDED.message, example = EXCLUDED.example, count = kept.count + EXCLUDED.count,
  last_at = EXCLUDED.last_at`;

const TRIM = `
DELETE FROM ingest_refusals kept WHERE kept.project_id = $1 AND (kept.harness, kept.type, kept.code, kept.path) IN (
  SELECT harness, type, code, path FROM ingest_refusals r WHERE r.project_id = $1
  ORDER BY last_at DESC, harness, type, code, path OFFSET ${KEPT_REFUSALS})`;

/** Remembers what is wrong with refused events. Writes once a second, and forgets what it cannot write. */
export class RefusalBook {
  readonly #writers: Pick<Writers, "transaction">;
  readonly #log: Logger;
  readonly #waiting = new Map<number, Map<string, RefusedEvents>>();
  #timer: NodeJS.Timeout | undefined;
  #writing: Promise<void> = Promise.resolve();

  constructor(writers: Pick<Writers, "transaction">, log: Logger) {
    this.#writers = writers;
    this.#log = log;
  }

  note(projectId: number, refused: Iterable<RefusedEvents>): void {
    for (const one of refused) {
      const known = this.#waiting.get(projectId) ?? new Map<string, RefusedEvents>();
      this.#waiting.set(projectId, known);
      const key = refusalKey(one);
      const before = known.get(key);
      if (before === undefined && known.size >= MOST_WAITING) continue;
      known.set(key, { ...one, count: one.count + (before?.count ?? 0) });
      this.#timer ??= setTimeout(() => void this.flush(), WRITE_EVERY_MS).unref();
    }
  }

  /** Writes what waits. Never rejects. */
  flush(): Promise<void> {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    const waiting = [...this.#waiting];
    this.#waiting.clear();
    this.#writing = this.#writing.then(async () => {
      for (const [projectId, refused] of waiting) await this.#write(projectId, [...refused.values()]);
    });
    return this.#writing;
  }

  async #write(projectId: number, refused: RefusedEvents[]): Promise<void> {
    try {
      await this.#writers.transaction((sql) => addRefusals(sql, projectId, refused));
    } catch (err) {
      this.#log.debug({ err }, "the reasons of refused events were not stored");
    }
  }
}

async function addRefusals(sql: Sql, projectId: number, refused: RefusedEvents[]): Promise<void> {
  // A project that is being deleted must not get new rows.
  const [alive] = await sql.query<{ now: number }>(ALIVE, projectId);
  if (alive === undefined) return;
  await sql.execute(ADD, projectId, JSON.stringify(refused), alive.now);
  await sql.execute(TRIM, projectId);
}
