import type { Logger } from "pino";
import type { Sql, Writers } from "../../db/sql.ts";

/** Milliseconds between two writes. */
const WRITE_EVERY_MS = 1_000;
/** Entries that wait to be written at most, for each project. */
const MOST_WAITING = 100;

export interface CountedBookOptions<Entry> {
  writers: Pick<Writers, "transaction">;
  log: Logger;
  /** For the log, such as "the reasons of refused events". */
  what: string;
  keyOf: (entry: Entry) => string;
  /** Adds the counts to those that are stored, and trims what is too much. `now` is the database's time, epoch ms. */
  write: (sql: Sql, projectId: number, entries: readonly Entry[], now: number) => Promise<void>;
}

// A distributed database refuses functions such as now() in an INSERT with ON CONFLICT, so the time is read here.
const ALIVE = `
SELECT (extract(epoch FROM clock_timestamp()) * 1000)::float8 AS now FROM projects
WHERE id = $1 AND deleting_at IS NULL FOR KEY SHARE`;

/** Counts what is no event but should be seen. Writes once a second, and forgets what it cannot write. */
export class CountedBook<Entry extends { count: number }> {
  readonly #options: CountedBookOptions<Entry>;
  readonly #waiting = new Map<number, Map<string, Entry>>();
  #timer: NodeJS.Timeout | undefined;
  #writing: Promise<void> = Promise.resolve();

  constructor(options: CountedBookOptions<Entry>) {
    this.#options = options;
  }

  note(projectId: number, entries: Iterable<Entry>): void {
    for (const one of entries) {
      const known = this.#waiting.get(projectId) ?? new Map<string, Entry>();
      this.#waiting.set(projectId, known);
      const key = this.#options.keyOf(one);
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
      for (const [projectId, entries] of waiting) await this.#write(projectId, [...entries.values()]);
    });
    return this.#writing;
  }

  async #write(projectId: number, entries: Entry[]): Promise<void> {
    const { writers, log, what, write } = this.#options;
    try {
      await writers.transaction(async (sql) => {
        // A project that is being deleted must not get new rows.
        const [alive] = await sql.query<{ now: number }>(ALIVE, projectId);
        if (alive !== undefined) await write(sql, projectId, entries, alive.now);
      });
    } catch (err) {
      log.debug({ err }, `${what} were not stored`);
    }
  }
}
