import type { Writers } from "../../db/sql.ts";
import { SharedReads } from "../../shared-reads.ts";
import type { Projectors } from "./projectors.ts";

/** What is acknowledged and not yet in what a reader sees. */
export interface Lag {
  events: number;
  /** Age of the oldest of them, ms. */
  ms: number;
}

const NO_LAG: Lag = { events: 0, ms: 0 };

/** Milliseconds a read waits for the projection before it answers with what there is. */
export const READ_WAIT_MS = 1_500;
/** Milliseconds between two looks at rows that another process projects. */
const POLL_MS = 25;
/** Rows to wait for at once. */
const MOST_ROWS = 1_000;

const ROWS = `SELECT id FROM journal WHERE project_id = $1 ORDER BY id LIMIT ${MOST_ROWS}`;
const ALL_LEFT = `
SELECT count(*)::int4 AS rows, COALESCE(sum(events), 0)::float8 AS events,
  COALESCE(max(GREATEST(0, extract(epoch FROM clock_timestamp() - received_at) * 1000)), 0)::float8 AS ms FROM journal
WHERE project_id = $1`;
const LEFT = `${ALL_LEFT} AND id = ANY($2::uuid[])`;

/** Lets readers wait until everything acknowledged before they asked is projected, whichever process acknowledged it. */
export class Freshness {
  readonly #writers: Pick<Writers, "query">;
  readonly #projectors: Pick<Projectors, "gone">;
  readonly #shared = new SharedReads();

  constructor(writers: Pick<Writers, "query">, projectors: Pick<Projectors, "gone">) {
    this.#writers = writers;
    this.#projectors = projectors;
  }

  /** Resolves with what is still missing after at most `patience` ms; zero events if nothing is. */
  wait(projectId: number, patience = READ_WAIT_MS): Promise<Lag> {
    // From now on, although the look may begin later: when the one under way ends.
    const until = performance.now() + patience;
    return this.#shared.ask(`${projectId}/${patience}`, () => this.#wait(projectId, until));
  }

  /** What is missing now. */
  async lag(projectId: number): Promise<Lag> {
    const [left] = await this.#writers.query<Lag>(ALL_LEFT, projectId);
    return left === undefined ? NO_LAG : { events: left.events, ms: left.ms };
  }

  async #wait(projectId: number, until: number): Promise<Lag> {
    for (;;) {
      const rows = await this.#writers.query<{ id: string }>(ROWS, projectId);
      if (rows.length === 0) return NO_LAG;
      const ids = rows.map(({ id }) => id);
      const missing = await this.#waitFor(projectId, ids, until);
      if (rows.length < MOST_ROWS) return missing;
      if (performance.now() >= until) return this.lag(projectId);
    }
  }

  /** Waits until the rows are projected, and returns what of them is missing when the time is up. */
  async #waitFor(projectId: number, ids: readonly string[], until: number): Promise<Lag> {
    for (let pause = 2; ; pause = Math.min(pause * 2, POLL_MS)) {
      const left = until - performance.now();
      await soonerOf(this.#projectors.gone(projectId, ids), Math.max(0, left));
      const [missing] = await this.#writers.query<Lag & { rows: number }>(LEFT, projectId, ids);
      if (missing === undefined || missing.rows === 0) return NO_LAG;
      if (performance.now() >= until) return { events: missing.events, ms: missing.ms };
      await soonerOf(undefined, pause);
    }
  }
}

async function soonerOf(event: Promise<void> | undefined, ms: number): Promise<void> {
  let timer: NodeJS.Timeout | undefined;
  const timeUp = new Promise<void>((resolve) => {
    timer = setTimeout(resolve, ms);
  });
  await (event === undefined ? timeUp : Promise.race([event, timeUp]));
  clearTimeout(timer);
}
