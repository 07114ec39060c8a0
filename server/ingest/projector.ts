import type { Logger } from "pino";
import type { WriterSql, Writers } from "../db/sql.ts";
import { isUnavailable } from "../db/unavailable.ts";
import { groupEvents, type Received } from "../history/group-events.ts";
import type { RequestOutcome } from "../history/outcomes.ts";
import { journal, rejectedEvents } from "../store/journal.ts";
import { runCommand } from "./commands.ts";
import type { DatabaseClock } from "./database-clock.ts";
import { EMPTY_ENTRY, type JournalEntry } from "./journal-entry.ts";
import { acquireLease, type Lease, LeaseLost, proveLease, releaseLease } from "./lease.ts";
import { ProjectMemory } from "./memory.ts";
import { type ChunkPlan, type Lookup, type ProjectSettings, planChunk } from "./plan-chunk.ts";
import { dropIdleStates, nextRefold, planRefold, refreshStalePeaks } from "./upkeep.ts";
import { MemoryOutdated, remember, writeChunk, writeCounts } from "./write-chunk.ts";

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

/** A row of the journal, in memory. */
export interface JournaledEntry {
  id: string;
  receivedAt: number;
  entry: JournalEntry;
  /** Requests by the index of their first event; one request if absent. */
  requests?: readonly JournaledRequest[];
}

export interface JournaledRequest {
  events: number;
  /** Called with the outcome once the events are projected. */
  done?: ((outcome: RequestOutcome) => void) | undefined;
}

/** Events in one transaction, if that many wait. More would hold readers up for longer. */
const CHUNK_EVENTS = 8_000;
/**
 * Milliseconds between two chunks while nobody waits and little is queued. Every chunk writes each of its agents once,
 * so fewer and larger chunks cost less.
 */
const PACE_MS = 80;
/** Events that are projected without delay. */
const ENOUGH_EVENTS = 3_000;
/** Events held in memory; the journal has the rest. */
const QUEUE_EVENTS = 60_000;
/** Journal rows read at once. */
const READ_ROWS = 64;
/** Milliseconds until an attempt that failed is repeated. */
const RETRY_MS = 250;
/** Milliseconds that a stop waits for what is in memory. */
const CLOSE_MS = 3_000;
/** Attempts at a chunk whose rows are not those remembered. */
const ATTEMPTS = 4;

interface Chunk {
  entries: JournaledEntry[];
  events: number;
}

type Written = { ok: true } | { ok: false; chunk: Chunk; error: unknown };

/** Writes everything derived from one project's journal. Does nothing while another process holds the lease. */
export class Projector {
  readonly #options: ProjectorOptions;
  #queue: JournaledEntry[] = [];
  #queued = 0;
  /** Ids of entries in memory, until they are committed. */
  readonly #inMemory = new Set<string>();
  /** Whether the journal may hold rows that are not in memory. */
  #unread = true;
  /** Whether agents wait to be folded again, or peaks to be read again. */
  #upkeep = true;
  #lease: Lease | undefined;
  #memory: ProjectMemory | undefined;
  #running: Promise<void> | undefined;
  #closed = false;
  #waiters: { ids: Set<string>; resolve: () => void }[] = [];
  /** Whether a sender waits for an entry in the queue. */
  #awaited = false;
  /** When the last chunk was taken, by `performance.now()`. */
  #tookAt = Number.NEGATIVE_INFINITY;
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

  /** Events in memory that are not committed. */
  get backlog(): number {
    return this.#queued;
  }

  /** Takes an entry that this process has journaled. */
  offer(entry: JournaledEntry): void {
    if (this.#queued >= QUEUE_EVENTS) this.#unread = true;
    else this.#enqueue(entry);
    if (this.#isUrgent()) this.#endPause?.();
    this.wake();
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
      if (this.#queue.length > 0 && this.#lease !== undefined) this.wake();
    });
  }

  /** Resolves when none of the entries is in this projector's memory any more. */
  gone(ids: readonly string[]): Promise<void> {
    const waiting = new Set(ids.filter((id) => this.#inMemory.has(id)));
    if (waiting.size === 0) return Promise.resolve();
    return new Promise((resolve) => {
      this.#waiters.push({ ids: waiting, resolve });
      this.#endPause?.();
    });
  }

  /** Projects what is in memory, for a few seconds at most, and hands over. The journal keeps what is left. */
  async close(): Promise<void> {
    const timer = setTimeout(() => {
      this.#closed = true;
      this.#endPause?.();
    }, CLOSE_MS);
    while (this.#running !== undefined && !this.#closed) await this.#running;
    clearTimeout(timer);
    this.#closed = true;
    await this.#running;
    if (this.#lease !== undefined) {
      await releaseLease(this.#options.writers, this.#lease).catch(() => {});
      this.#lease = undefined;
    }
  }

  #enqueue(entry: JournaledEntry): void {
    if (this.#inMemory.has(entry.id)) return;
    this.#queue.push(entry);
    this.#inMemory.add(entry.id);
    this.#queued += entry.entry.events.length;
    this.#awaited ||= entry.entry.reply !== undefined || entry.entry.commands !== undefined;
    this.#awaited ||= entry.requests?.some(({ done }) => done !== undefined) ?? false;
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
          else if (!(await this.#upkeepStep()) && this.#queue.length === 0 && !this.#unread) return;
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
        const written = await settle();
        if (!written.ok) throw new PreviousFailed(written);
        writing = this.#write(chunk, plan);
      } catch (error) {
        const written = error instanceof PreviousFailed ? error.written : await settle();
        if (written.ok) await this.#failed(chunk, error);
        else {
          if (chunk !== undefined) this.#putBack(chunk);
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
    return this.#closed || this.#awaited || this.#waiters.length > 0 || this.#queued >= ENOUGH_EVENTS;
  }

  /** Lets small chunks grow. */
  async #pace(): Promise<void> {
    const left = this.#tookAt + PACE_MS - performance.now();
    if (left <= 0 || this.#queue.length === 0 || this.#isUrgent()) return;
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
      this.#lease = await acquireLease(writers, projectId, holder, clock.now());
      if (this.#lease === undefined) {
        this.#forgetQueue();
        return false;
      }
      this.#unread = true;
      this.#upkeep = true;
    }
    this.#memory ??= await ProjectMemory.open(writers, projectId);
    if (this.#unread && this.#queued < CHUNK_EVENTS) await this.#readJournal();
    return true;
  }

  async #readJournal(): Promise<void> {
    const { writers, projectId } = this.#options;
    this.#unread = false;
    const rows = await writers.query<{ id: string; received_ms: number; body: string }>(
      READ_JOURNAL,
      projectId,
      [...this.#inMemory],
    );
    if (rows.length === READ_ROWS) this.#unread = true;
    for (const { id, received_ms: receivedAt, body } of rows) {
      this.#enqueue({ id, receivedAt, entry: JSON.parse(body) as JournalEntry });
    }
  }

  #take(): Chunk | undefined {
    let events = 0;
    let taken = 0;
    for (const { entry } of this.#queue) {
      const alone = entry.commands !== undefined;
      if (taken > 0 && (alone || events + entry.events.length > CHUNK_EVENTS)) break;
      events += entry.events.length;
      taken += 1;
      if (alone) break;
    }
    if (taken === 0) return undefined;
    this.#tookAt = performance.now();
    this.#awaited = false;
    return { entries: this.#queue.splice(0, taken), events };
  }

  #putBack({ entries }: Chunk): void {
    this.#queue.unshift(...entries);
  }

  async #plan(
    chunk: Chunk,
    settled: () => Promise<void>,
    lookup: Lookup = "not_after_known",
  ): Promise<ChunkPlan> {
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
    const plan = await planChunk(sql, memory, arrivals, settings(projectId), lookup);
    for (const { entry } of chunk.entries) {
      for (const [code, count] of Object.entries(entry.refused ?? {})) plan.ledger.add(code, count);
    }
    remember(memory, plan);
    return plan;
  }

  /** Commits a planned chunk. Never rejects: the loop looks at the outcome when it needs it. */
  async #write(chunk: Chunk, plan: ChunkPlan): Promise<Written> {
    const started = performance.now();
    try {
      await this.#transaction(chunk, async (sql) => {
        await writeChunk(sql, this.#memory!, plan);
        writeCounts(sql, this.#options.projectId, plan.ledger.counts, chunk.entries[0]!.receivedAt);
      });
    } catch (error) {
      return { ok: false, chunk, error };
    }
    this.#committed(chunk, plan, performance.now() - started);
    return { ok: true };
  }

  /** Runs statements under the lease and takes the chunk's rows off the journal. */
  async #transaction(chunk: Chunk | undefined, run: (sql: WriterSql) => Promise<void>): Promise<void> {
    const { writers, projectId, clock } = this.#options;
    const lease = this.#lease!;
    await writers.transaction(async (sql) => {
      // If the commit is lost in a crash, the journal's rows are back too.
      sql.send("SET LOCAL synchronous_commit = off");
      const proven = proveLease(sql, lease, clock.now());
      // Both at once: if the lease is lost, the transaction is rolled back.
      await Promise.all([proven, run(sql)]);
      if (chunk === undefined) return;
      const { text, values } = journal.delete(
        projectId,
        chunk.entries.map(({ id }) => ({ id })),
      );
      sql.send(text, ...values);
    });
  }

  #committed(chunk: Chunk, plan: Pick<ChunkPlan, "ledger" | "sessions">, ms: number): void {
    const { projectId } = this.#options;
    this.#release(chunk);
    const { requests, counts } = plan.ledger;
    const replies: (RequestOutcome & { reply: string })[] = [];
    let index = 0;
    for (const { entry, requests: own } of chunk.entries) {
      for (const { done } of own ?? [ONE_REQUEST]) {
        const outcome = requests.get(index) ?? NO_EVENTS;
        index += 1;
        done?.(outcome);
        if (entry.reply !== undefined) replies.push({ reply: entry.reply, ...outcome });
      }
    }
    const sessions = plan.sessions.map(({ after }) => after.row.id);
    this.#options.projected({ projectId, sessions, events: chunk.events, counts, replies, ms });
  }

  #release(chunk: Chunk): void {
    for (const { id } of chunk.entries) this.#inMemory.delete(id);
    this.#queued -= chunk.events;
    this.#waiters = this.#waiters.filter(({ ids, resolve }) => {
      for (const { id } of chunk.entries) ids.delete(id);
      if (ids.size > 0) return true;
      resolve();
      return false;
    });
  }

  /** Another process projects: it reads the rows from the journal. */
  #forgetQueue(): void {
    if (this.#queue.length > 0) this.#options.leftToOthers();
    this.#release({ entries: this.#queue.splice(0), events: this.#queued });
    this.#memory = undefined;
  }

  async #command(chunk: Chunk): Promise<void> {
    const commands = chunk.entries[0]!.entry.commands ?? [];
    await this.#transaction(chunk, async (sql) => {
      for (const command of commands)
        await runCommand(sql, this.#memory!, command, this.#options.clock.now());
    });
    this.#upkeep = true;
    const plan = { ledger: { counts: new Map(), requests: new Map() }, sessions: [] };
    this.#committed(chunk, plan as unknown as ChunkPlan, 0);
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
        if (plan !== undefined) await writeChunk(sql, memory, plan);
        sql.send(REFOLDED, projectId, agentId);
      });
      if (plan === undefined) return;
      remember(memory, plan);
      this.#committed({ entries: [], events: 0 }, plan, performance.now() - started);
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
      if (chunk !== undefined) this.#putBack(chunk);
      return pause();
    }
    try {
      await this.#careful(chunk, error);
    } catch (again) {
      this.#memory = undefined;
      if (again instanceof LeaseLost) return this.#loseLease(chunk);
      log.warn({ err: again, projectId }, "the database did not take a chunk; trying again");
      this.#putBack(chunk);
      await pause();
    }
  }

  /** The process that took over finds the rows in the journal. */
  #loseLease(chunk: Chunk | undefined): void {
    this.#lease = undefined;
    if (chunk !== undefined) this.#putBack(chunk);
    this.#forgetQueue();
  }

  /** Projects a chunk that failed by halves, with every turn looked up, and sets aside the events that fail alone. */
  async #careful(chunk: Chunk, first: unknown): Promise<void> {
    const { projectId, log } = this.#options;
    if (!(first instanceof MemoryOutdated))
      log.warn({ err: first, projectId }, "a chunk failed; projecting it by halves");
    const rejected: { received: Received; error: unknown }[] = [];
    const received = receivedOf(chunk);
    const total = { counts: new Map<string, number>(), requests: new Map<number, RequestOutcome>() };
    const sessions: ChunkPlan["sessions"] = [];
    const started = performance.now();
    const project = async (part: readonly Received[]): Promise<void> => {
      try {
        const plan = await this.#projectPart(part, chunk.entries[0]!.receivedAt);
        sessions.push(...plan.sessions);
        for (const [outcome, count] of plan.ledger.counts) {
          total.counts.set(outcome, (total.counts.get(outcome) ?? 0) + count);
        }
        for (const [request, { accepted, duplicates }] of plan.ledger.requests) {
          const known = total.requests.get(request) ?? NO_EVENTS;
          const outcome = { accepted: known.accepted + accepted, duplicates: known.duplicates + duplicates };
          total.requests.set(request, outcome);
        }
      } catch (error) {
        if (error instanceof LeaseLost || isUnavailable(error)) throw error;
        const halves = split(part);
        if (halves === undefined) rejected.push({ received: part[0]!, error });
        else for (const half of halves) await project(half);
      }
    };
    if (received.some(({ events }) => events.length > 0)) await project(received);
    await this.#transaction(chunk, async (sql) => {
      const refused = new Map<string, number>();
      for (const { entry } of chunk.entries) {
        for (const [code, count] of Object.entries(entry.refused ?? {}))
          refused.set(code, (refused.get(code) ?? 0) + count);
      }
      if (rejected.length > 0) refused.set("not_projected", rejected.length);
      writeCounts(sql, projectId, refused, chunk.entries[0]!.receivedAt);
      if (rejected.length === 0) return;
      const { text, values } = rejectedEvents.insert(projectId, rejected.map(rejectedRow));
      sql.send(text, ...values);
    });
    for (const { error } of rejected)
      log.error({ err: error, projectId }, "an event could not be projected and was set aside");
    this.#committed(chunk, { ledger: total, sessions } as unknown as ChunkPlan, performance.now() - started);
  }

  async #projectPart(part: readonly Received[], receivedAt: number): Promise<ChunkPlan> {
    const { writers, projectId, settings } = this.#options;
    for (let attempt = 1; ; attempt++) {
      this.#memory = await ProjectMemory.open(writers, projectId);
      const arrivals = groupEvents(projectId, part);
      const plan = await planChunk(writers, this.#memory, arrivals, settings(projectId), "all");
      try {
        await this.#transaction(undefined, async (sql) => {
          await writeChunk(sql, this.#memory!, plan);
          writeCounts(sql, projectId, plan.ledger.counts, receivedAt);
        });
        remember(this.#memory, plan);
        return plan;
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

const ONE_REQUEST: JournaledRequest = { events: 0 };
const NO_EVENTS: RequestOutcome = { accepted: 0, duplicates: 0 };

const READ_JOURNAL = `
SELECT id, (extract(epoch FROM received_at) * 1000)::float8 AS received_ms, body FROM journal
WHERE project_id = $1 AND NOT (id = ANY($2::uuid[])) ORDER BY id LIMIT ${READ_ROWS}`;
const SET_ASIDE = "UPDATE refolds SET reason = 'failed' WHERE project_id = $1 AND agent_id = $2::uuid";
const REFOLDED = "DELETE FROM refolds WHERE project_id = $1 AND agent_id = $2::uuid";

/** The events of a chunk, by request. */
function receivedOf({ entries }: Chunk): Received[] {
  const received: Received[] = [];
  for (const { entry, receivedAt, requests } of entries) {
    let next = 0;
    for (const { events } of requests ?? [{ events: entry.events.length }]) {
      const request = received.length;
      received.push({ events: entry.events.slice(next, next + events), request, receivedAt });
      next += events;
    }
  }
  return received;
}

/** Two halves of some events; undefined for a single event. */
function split(part: readonly Received[]): [Received[], Received[]] | undefined {
  const single = part.flatMap(({ events, request, receivedAt }) =>
    events.map((event) => ({ events: [event], request, receivedAt })),
  );
  if (single.length < 2) return undefined;
  const middle = single.length >> 1;
  return [single.slice(0, middle), single.slice(middle)];
}

function rejectedRow({ received, error }: { received: Received; error: unknown }) {
  return {
    id: crypto.randomUUID(),
    receivedAt: received.receivedAt,
    error: error instanceof Error ? error.message : String(error),
    event: received.events[0] ?? EMPTY_ENTRY,
  };
}

function pause(): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, RETRY_MS).unref());
}
