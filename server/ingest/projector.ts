import type { Logger } from "pino";
import type { WriterSql, Writers } from "../db/sql.ts";
import { isUnavailable } from "../db/unavailable.ts";
import { groupEvents, type Received } from "../history/group-events.ts";
import type { RequestOutcome } from "../history/outcomes.ts";
import { journal, rejectedEvents } from "../store/journal.ts";
import { runCommand } from "./commands.ts";
import type { DatabaseClock } from "./database-clock.ts";
import {
  type Chunk,
  EntryQueue,
  type JournaledEntry,
  receivedOf,
  refusedOf,
  requestsOf,
} from "./entry-queue.ts";
import { EMPTY_ENTRY, type JournalEntry } from "./journal-entry.ts";
import { acquireLease, type Lease, LeaseLost, proveLease, releaseLease, removeOrphan } from "./lease.ts";
import { ProjectMemory } from "./memory.ts";
import { type ChunkPlan, type ProjectSettings, planChunk } from "./plan-chunk.ts";
import { type FailedEvent, type PartOutcome, projectByHalves } from "./project-by-halves.ts";
import { refreshStalePeaks } from "./stale-peaks.ts";
import { dropIdleStates, nextRefold, planRefold } from "./upkeep.ts";
import {
  type ChunkStatement,
  encodeChunk,
  MemoryOutdated,
  remember,
  sendChunk,
  writeCounts,
} from "./write-chunk.ts";

export interface ProjectorOptions {
  projectId: number;
  writers: Writers;
  clock: DatabaseClock;
  /** Identifies this process. */
  holder: string;
  settings: (projectId: number) => ProjectSettings;
  log: Logger;
  /** Called after a commit. */
  projected: (change: Projected) => void;
  /** Called while a chunk is planned, each time the backlog got smaller. */
  progressed: () => void;
  /** Called if entries are left to the process that holds the lease. */
  leftToOthers: () => void;
}

/** What a commit of the projector did. */
export interface Projected {
  projectId: number;
  sessions: readonly string[];
  events: number;
  counts: ReadonlyMap<string, number>;
  /** Outcomes for senders that wait on another server. */
  replies: readonly (RequestOutcome & { reply: string })[];
  /** Milliseconds from planning to commit. */
  ms: number;
}

/** How many events are held at most. */
interface Sizes {
  /** In one transaction, if that many wait. The more, the less an event costs; but readers wait for longer. */
  chunk: number;
  /** Not planned yet. With more, senders wait. */
  waiting: number;
}

const ALONE: Sizes = { chunk: 32_000, waiting: 40_000 };
/**
 * While several processes fill the journal. The others see only at a commit what became of their events, and the more
 * that wait in this process, the later are those of the others.
 */
export const SHARED: Sizes = { chunk: 16_000, waiting: 24_000 };
/**
 * Milliseconds between two chunks while nobody waits and little is queued, for each event of the last chunk besides, and
 * at most. Every chunk writes each of its agents once, so under load fewer and larger chunks are worth a short delay.
 */
const PACE_MS = 50;
const PACE_MS_PER_EVENT = 0.1;
const MOST_PACE_MS = 400;
/** Events that are projected without delay. */
const ENOUGH_EVENTS = 10_000;
/** Events held in memory: those admitted, a chunk being planned and one being written. The journal has the rest. */
const QUEUE_EVENTS = 128_000;
/** Journal rows read at once. */
const READ_ROWS = 32;
/** Milliseconds until an attempt that failed is repeated. */
const RETRY_MS = 250;
/** Milliseconds that a stop waits for what is in memory. */
const CLOSE_MS = 2_000;
/** Milliseconds more for the chunk under way. */
const LAST_CHUNK_MS = 1_000;
/** Attempts at a chunk whose rows are not those remembered. */
const ATTEMPTS = 4;

type Written = { ok: true } | { ok: false; chunk: Chunk; error: unknown };

/** Writes everything derived from one project's journal. Does nothing while another process holds the lease. */
export class Projector {
  readonly #options: ProjectorOptions;
  readonly #queue = new EntryQueue(QUEUE_EVENTS);
  /** Whether the journal may hold rows that are not in memory. */
  #unread = true;
  /** Whether the journal held rows of other processes when it was last read. */
  #shared = false;
  /** Whether agents wait to be folded again, or peaks to be read again. */
  #upkeep = true;
  #lease: Lease | undefined;
  #memory: ProjectMemory | undefined;
  #running: Promise<void> | undefined;
  #closed = false;
  /** When the last chunk was taken, by `performance.now()`. */
  #tookAt = Number.NEGATIVE_INFINITY;
  #tookEvents = 0;
  /** Events of the chunk being planned that are left to plan. */
  #unplanned = 0;
  #endPause: (() => void) | undefined;

  constructor(options: ProjectorOptions) {
    this.#options = options;
  }

  /** Whether this process projects, as far as it knows. */
  get holding(): boolean {
    return this.#lease !== undefined;
  }

  /** Whether nobody has looked for upkeep that an earlier process left. */
  get unstarted(): boolean {
    return this.#upkeep && this.#lease === undefined;
  }

  /** How many events this process may hold now. */
  get sizes(): Sizes {
    return this.holding && !this.#shared ? ALONE : SHARED;
  }

  /** Events in memory that are not planned. Those of the chunk that the database writes do not count. */
  get backlog(): number {
    return this.#queue.waiting + this.#unplanned;
  }

  /** Takes an entry that this process has journaled. */
  offer(entry: JournaledEntry): void {
    if (this.#queue.offer(entry) === "left_to_journal") this.#unread = true;
    if (this.#isUrgent()) this.#endPause?.();
    this.wake();
  }

  /** An entry of this process is about to be journaled. */
  reserve(id: string): void {
    this.#queue.reserve(id);
  }

  /** The journal did not take a reserved entry, as far as this process knows. */
  unreserve(id: string): void {
    this.#queue.unreserve(id);
    this.#unread = true;
  }

  /** The journal may hold rows of other processes. */
  check(): void {
    this.#unread = true;
    this.wake();
  }

  /** Looks for upkeep, at the latest after the next chunk. */
  tidy(): void {
    this.#upkeep = true;
    if (this.holding) this.wake();
  }

  wake(): void {
    if (this.#closed || this.#running !== undefined) return;
    this.#running = this.#run().finally(() => {
      this.#running = undefined;
      if (!this.#queue.isEmpty && this.#lease !== undefined) this.wake();
    });
  }

  /** Resolves when none of the entries is in this projector's memory any more. */
  gone(ids: readonly string[]): Promise<void> {
    const gone = this.#queue.gone(ids);
    if (this.#isUrgent()) this.#endPause?.();
    return gone;
  }

  /** Projects what is in memory, for a few seconds at most, and hands over. The journal keeps what is left. */
  async close(): Promise<void> {
    const until = performance.now() + CLOSE_MS;
    while (this.#running !== undefined && performance.now() < until) {
      await Promise.race([this.#running, sleep(until - performance.now())]);
    }
    this.#closed = true;
    this.#endPause?.();
    // A database that does not answer must not hold up the stop: the chunk under way is projected again.
    await Promise.race([this.#running, sleep(LAST_CHUNK_MS)]);
    if (this.#lease !== undefined) {
      const released = releaseLease(this.#options.writers, this.#lease).catch(() => {});
      this.#lease = undefined;
      await Promise.race([released, sleep(LAST_CHUNK_MS)]);
    }
  }

  /** Stops without projecting what is in memory: the project is being deleted. */
  async discard(): Promise<void> {
    this.#closed = true;
    this.#endPause?.();
    await this.#running;
    this.#lease = undefined;
    this.#queue.clear();
  }

  /** Projects until nothing is left. Two chunks overlap: one is planned while the database writes the other. */
  async #run(): Promise<void> {
    let writing: Promise<Written> | undefined;
    const settle = async (): Promise<Written> => {
      const written = (await writing) ?? { ok: true };
      writing = undefined;
      return written;
    };
    while (!this.#closed) {
      let chunk: Chunk | undefined;
      try {
        if (!(await this.#ready())) return;
        await this.#pace();
        chunk = this.#take();
        if (chunk === undefined) {
          const written = await settle();
          if (!written.ok) await this.#failed(written.chunk, written.error);
          else if (!(await this.#upkeepStep()) && this.#queue.isEmpty && !this.#unread) return;
          continue;
        }
        if (chunk.entries[0]?.entry.commands !== undefined) {
          const written = await settle();
          if (!written.ok) throw new PreviousFailed(written);
          await this.#command(chunk);
          continue;
        }
        const plan = await this.#plan(chunk, async () => {
          const written = await settle();
          if (!written.ok) throw new PreviousFailed(written);
        });
        const statements = encodeChunk(this.#memory!, plan);
        const written = await settle();
        if (!written.ok) throw new PreviousFailed(written);
        writing = this.#write(chunk, plan, statements);
      } catch (error) {
        const written = error instanceof PreviousFailed ? error.written : await settle();
        if (written.ok) await this.#failed(chunk, error);
        else {
          if (chunk !== undefined) this.#queue.putBack(chunk);
          await this.#failed(written.chunk, written.error);
        }
      }
    }
    const written = await settle();
    if (!written.ok)
      this.#options.log.warn({ err: written.error }, "the last events are projected at the next start");
  }

  /** Whether somebody waits for what is queued, or enough of it is there. */
  #isUrgent(): boolean {
    return this.#closed || this.#queue.isAwaited || this.#queue.events >= ENOUGH_EVENTS;
  }

  /** Lets small chunks grow. */
  async #pace(): Promise<void> {
    const pace = Math.min(PACE_MS + PACE_MS_PER_EVENT * this.#tookEvents, MOST_PACE_MS);
    const left = this.#tookAt + pace - performance.now();
    if (left <= 0 || this.#queue.isEmpty || this.#isUrgent()) return;
    await new Promise<void>((resolve) => {
      const timer = setTimeout(resolve, left);
      this.#endPause = () => {
        clearTimeout(timer);
        resolve();
      };
    });
    this.#endPause = undefined;
  }

  /** Gets the lease and what the journal holds. Returns false while another process has the lease. */
  async #ready(): Promise<boolean> {
    const { writers, projectId, holder, clock } = this.#options;
    if (this.#lease === undefined) {
      const lease = await acquireLease(writers, projectId, holder, clock.now());
      if (lease === undefined || (await removeOrphan(writers, lease))) {
        this.#forgetQueue();
        return false;
      }
      this.#lease = lease;
      this.#unread = true;
      this.#upkeep = true;
    }
    this.#memory ??= await ProjectMemory.open(writers, projectId);
    if (this.#unread && !this.#queue.isFull) await this.#readJournal();
    return true;
  }

  async #readJournal(): Promise<void> {
    const { writers, projectId } = this.#options;
    this.#unread = false;
    const rows = await writers.query<{ id: string; received_ms: number; body: string }>(
      READ_JOURNAL,
      projectId,
      this.#queue.ids,
    );
    const more = rows.length === READ_ROWS;
    this.#unread ||= more;
    const entries = rows.map(({ id, received_ms: receivedAt, body }) => {
      return { id, receivedAt, entry: JSON.parse(body) as JournalEntry };
    });
    this.#shared = this.#queue.addRead(entries, !more) > 0;
  }

  #take(): Chunk | undefined {
    const chunk = this.#queue.take(this.sizes.chunk);
    if (chunk === undefined) return undefined;
    this.#tookAt = performance.now();
    this.#tookEvents = chunk.events;
    return chunk;
  }

  async #plan(chunk: Chunk, settled: () => Promise<void>): Promise<ChunkPlan> {
    const { writers, projectId, settings } = this.#options;
    const memory = this.#memory!;
    const sql = {
      // What is read must include the chunk before.
      async query<Row>(text: string, ...values: unknown[]): Promise<Row[]> {
        await settled();
        return writers.query<Row>(text, ...values);
      },
    };
    const arrivals = groupEvents(projectId, receivedOf(chunk));
    this.#unplanned = chunk.events;
    const pause = (share: number) => {
      this.#unplanned = Math.ceil(chunk.events * (1 - share));
      this.#options.progressed();
      return new Promise(setImmediate);
    };
    const plan = await planChunk(sql, memory, arrivals, settings(projectId), "may_be_stored", pause).finally(
      () => {
        this.#unplanned = 0;
      },
    );
    for (const [code, count] of refusedOf(chunk)) plan.ledger.add(code, count);
    remember(memory, plan);
    this.#upkeep ||= plan.rollups.stale;
    return plan;
  }

  /** Commits a planned chunk. Never rejects: the loop looks at the outcome when it needs it. */
  async #write(chunk: Chunk, plan: ChunkPlan, statements: readonly ChunkStatement[]): Promise<Written> {
    const started = performance.now();
    try {
      await this.#transaction(chunk, async (sql) => {
        await sendChunk(sql, statements);
        writeCounts(sql, this.#options.projectId, plan.ledger.counts, chunk.entries[0]!.receivedAt);
      });
    } catch (error) {
      return { ok: false, chunk, error };
    }
    this.#committed(chunk, outcomeOf(plan), performance.now() - started);
    return { ok: true };
  }

  /** Runs statements under the lease and takes the chunk's rows off the journal. */
  async #transaction(chunk: Chunk | undefined, run: (sql: WriterSql) => Promise<void>): Promise<void> {
    const { writers, projectId, clock } = this.#options;
    const lease = this.#lease!;
    await writers.transaction(async (sql) => {
      // If the commit is lost in a crash, the journal's rows are back too.
      sql.send("SET LOCAL synchronous_commit = off");
      await proveLease(sql, lease, clock.now());
      await run(sql);
      if (chunk === undefined) return;
      const { text, values } = journal.delete(
        projectId,
        chunk.entries.map(({ id }) => ({ id })),
      );
      sql.send(text, ...values);
    });
  }

  #committed(chunk: Chunk, { counts, requests, sessions }: PartOutcome, ms: number): void {
    const { projectId, projected } = this.#options;
    this.#queue.release(chunk);
    const replies: (RequestOutcome & { reply: string })[] = [];
    for (const [index, { request, reply }] of requestsOf(chunk).entries()) {
      const outcome = requests.get(index) ?? NO_EVENTS;
      request.done?.(outcome);
      if (reply !== undefined) replies.push({ reply, ...outcome });
    }
    projected({ projectId, sessions, events: chunk.events, counts, replies, ms });
  }

  /** Another process projects: it reads the rows from the journal. */
  #forgetQueue(): void {
    if (this.#queue.clear()) this.#options.leftToOthers();
    this.#memory = undefined;
  }

  async #command(chunk: Chunk): Promise<void> {
    const commands = chunk.entries[0]!.entry.commands ?? [];
    await this.#transaction(chunk, async (sql) => {
      for (const command of commands)
        await runCommand(sql, this.#memory!, command, this.#options.clock.now());
    });
    this.#upkeep = true;
    this.#committed(chunk, NOTHING, 0);
  }

  /** Does one bounded piece of work on what is already stored. Returns false if nothing is left to do. */
  async #upkeepStep(): Promise<boolean> {
    if (!this.#upkeep) return false;
    const { writers, projectId, settings } = this.#options;
    const memory = this.#memory!;
    const agentId = await nextRefold(writers, projectId);
    if (agentId !== undefined) {
      await this.#refold(memory, agentId, settings(projectId));
      return true;
    }
    let dropped: string[] = [];
    let refreshed = 0;
    await this.#transaction(undefined, async (sql) => {
      dropped = await dropIdleStates(sql, projectId, this.#options.clock.now());
      refreshed = await refreshStalePeaks(sql, projectId);
    });
    for (const id of dropped) memory.agents.delete(id);
    this.#upkeep = refreshed > 0 || dropped.length > 0;
    return this.#upkeep;
  }

  /** Folds one agent again. An agent that cannot be folded is set aside, so the others go on. */
  async #refold(memory: ProjectMemory, agentId: string, settings: ProjectSettings): Promise<void> {
    const { writers, projectId, log } = this.#options;
    const started = performance.now();
    try {
      const plan = await planRefold(writers, memory, agentId, settings);
      await this.#transaction(undefined, async (sql) => {
        if (plan !== undefined) await sendChunk(sql, encodeChunk(memory, plan));
        sql.send(REFOLDED, projectId, agentId);
      });
      if (plan === undefined) return;
      remember(memory, plan);
      this.#committed({ entries: [], events: 0 }, outcomeOf(plan), performance.now() - started);
    } catch (error) {
      if (error instanceof LeaseLost || error instanceof MemoryOutdated || isUnavailable(error)) throw error;
      log.error({ err: error, projectId, agentId }, "an agent could not be folded again");
      this.#memory = undefined;
      await writers.query(SET_ASIDE, projectId, agentId);
    }
  }

  /** Decides what to do with a chunk that was not committed. What was remembered of it is worth nothing now. */
  async #failed(chunk: Chunk | undefined, error: unknown): Promise<void> {
    const { log, projectId } = this.#options;
    this.#memory = undefined;
    if (error instanceof LeaseLost) return this.#loseLease(chunk);
    if (isUnavailable(error) || chunk === undefined || chunk.entries[0]?.entry.commands !== undefined) {
      log.warn({ err: error, projectId }, "the database did not take a chunk; trying again");
      if (chunk !== undefined) this.#queue.putBack(chunk);
      await pause();
      return;
    }
    try {
      await this.#careful(chunk, error);
    } catch (again) {
      this.#memory = undefined;
      if (again instanceof LeaseLost) return this.#loseLease(chunk);
      log.warn({ err: again, projectId }, "the database did not take a chunk; trying again");
      this.#queue.putBack(chunk);
      await pause();
    }
  }

  /** The process that took over finds the rows in the journal. */
  #loseLease(chunk: Chunk | undefined): void {
    this.#lease = undefined;
    if (chunk !== undefined) this.#queue.putBack(chunk);
    this.#forgetQueue();
  }

  /** Projects a chunk that failed by halves, with every turn looked up, and sets aside the events that fail alone. */
  async #careful(chunk: Chunk, first: unknown): Promise<void> {
    const { projectId, log } = this.#options;
    if (!(first instanceof MemoryOutdated))
      log.warn({ err: first, projectId }, "a chunk failed; projecting it by halves");
    const started = performance.now();
    const { receivedAt } = chunk.entries[0]!;
    const { done, failed } = await projectByHalves(
      receivedOf(chunk),
      (part) => this.#projectPart(part, receivedAt),
      (error) => error instanceof LeaseLost || isUnavailable(error),
    );
    await this.#transaction(chunk, async (sql) => {
      const refused = refusedOf(chunk);
      if (failed.length > 0) refused.set("not_projected", failed.length);
      writeCounts(sql, projectId, refused, receivedAt);
      if (failed.length === 0) return;
      const { text, values } = rejectedEvents.insert(projectId, failed.map(rejectedRow));
      sql.send(text, ...values);
    });
    for (const { error } of failed) {
      log.error({ err: error, projectId }, "an event could not be projected and was set aside");
    }
    this.#committed(chunk, done, performance.now() - started);
  }

  async #projectPart(part: readonly Received[], receivedAt: number): Promise<PartOutcome> {
    const { writers, projectId, settings } = this.#options;
    for (let attempt = 1; ; attempt++) {
      this.#memory = await ProjectMemory.open(writers, projectId);
      const arrivals = groupEvents(projectId, part);
      const plan = await planChunk(writers, this.#memory, arrivals, settings(projectId), "all");
      try {
        await this.#transaction(undefined, async (sql) => {
          await sendChunk(sql, encodeChunk(this.#memory!, plan));
          writeCounts(sql, projectId, plan.ledger.counts, receivedAt);
        });
        remember(this.#memory, plan);
        this.#upkeep ||= plan.rollups.stale;
        return outcomeOf(plan);
      } catch (error) {
        if (!(error instanceof MemoryOutdated) || attempt === ATTEMPTS) throw error;
      }
    }
  }
}

/** Thrown while planning if the chunk before was not committed: the plan would build on it. */
class PreviousFailed extends Error {
  readonly written: Extract<Written, { ok: false }>;

  constructor(written: Extract<Written, { ok: false }>) {
    super("the chunk before was not committed");
    this.written = written;
  }
}

const NO_EVENTS: RequestOutcome = { accepted: 0, duplicates: 0 };
const NOTHING: PartOutcome = { counts: new Map(), requests: new Map(), sessions: [] };

function outcomeOf({ ledger, sessions }: ChunkPlan): PartOutcome {
  const { counts, requests } = ledger;
  return { counts, requests, sessions: sessions.map(({ after }) => after.row.id) };
}

const READ_JOURNAL = `
SELECT id, (extract(epoch FROM received_at) * 1000)::float8 AS received_ms, body FROM journal
WHERE project_id = $1 AND NOT (id = ANY($2::uuid[])) ORDER BY id LIMIT ${READ_ROWS}`;
const SET_ASIDE = "UPDATE refolds SET reason = 'failed' WHERE project_id = $1 AND agent_id = $2::uuid";
const REFOLDED = "DELETE FROM refolds WHERE project_id = $1 AND agent_id = $2::uuid";

function rejectedRow({ received, error }: FailedEvent) {
  return {
    id: crypto.randomUUID(),
    receivedAt: received.receivedAt,
    error: error instanceof Error ? error.message : String(error),
    event: received.events[0] ?? EMPTY_ENTRY,
  };
}

function pause(): Promise<unknown> {
  return sleep(RETRY_MS);
}

function sleep(ms: number): Promise<unknown> {
  return new Promise((resolve) => setTimeout(resolve, ms).unref());
}
