import { LeaseLost, LeaseSeeker } from "../../db/lease.ts";
import { leaveSignal } from "../../db/tables/alert-signals.ts";
import { mayBePacked } from "../../db/tables/packed-minutes.ts";
import { isTimeout } from "../../db/unavailable.ts";
import { WorkerLoop } from "../../db/worker-loop.ts";
import {
  answerSenders,
  type Chunk,
  commandsOf,
  EntryQueue,
  type JournaledEntry,
  receivedOf,
  refusedOf,
} from "../journal/entry-queue.ts";
import type { Command } from "../journal/journal-entry.ts";
import { countJournal, readJournal } from "../journal/read-journal.ts";
import { groupInSteps } from "../plan/group-events.ts";
import { inSlices } from "../plan/in-slices.ts";
import type { RequestOutcome } from "../plan/outcomes.ts";
import { runCommand } from "./commands.ts";
import { HeldProject, type HeldProjectOptions, hasExternalCause } from "./held-project.ts";
import {
  isUrgent,
  type LastChunk,
  mostEventsAfter,
  msUntilNextChunk,
  QUEUE_EVENTS,
  type Sizes,
  sizesFor,
} from "./pace.ts";
import { newestAcknowledged, outcomeOf, type PartOutcome, planChunk } from "./plan-chunk.ts";
import { projectCarefully } from "./project-carefully.ts";
import { shareSessions } from "./shared-sessions.ts";
import { upkeepStep } from "./upkeep.ts";
import { type ChunkStatement, encodeChunk, remember, sendChunk, writeCounts } from "./write-chunk.ts";

export interface ProjectorOptions extends HeldProjectOptions {
  /** See `LeaseOptions`. */
  monotonic?: () => number;
  /** Called after a commit. */
  projected: (change: Projected) => void;
  /** Called while a chunk is planned, each time the backlog got smaller. */
  progressed: () => void;
  /** Called if entries are left to the process that holds the lease. */
  leftToOthers: () => void;
  /** Whether somebody waits for changes of the project. */
  isWatched: () => boolean;
}

/** What a commit of the projector did. */
export interface Projected {
  projectId: number;
  sessions: readonly string[];
  /** Whether a harness said something of itself or of its policy. */
  harnesses: boolean;
  counts: ReadonlyMap<string, number>;
  /** Outcomes for senders that wait on another server. */
  replies: readonly (RequestOutcome & { reply: string })[];
}

/** Milliseconds until an attempt that failed is repeated. */
const RETRY_MS = 250;
/** Failures in a row after which another process may try. */
const MOST_FAILURES = 8;
/** Milliseconds that a stop waits for what is in memory. */
const CLOSE_MS = 2_000;
/** Milliseconds more for the chunk under way. */
const LAST_CHUNK_MS = 1_000;

/** A planned chunk, ready to be written. */
interface PlannedChunk {
  chunk: Chunk;
  /** When its planning began, in ms by a clock that never goes back. */
  started: number;
  statements: readonly ChunkStatement[];
  /** For the counts in the database. */
  storedCounts: ReadonlyMap<string, number>;
  outcome: PartOutcome;
}

/** Writes everything derived from one project's journal. Does nothing while another process holds the lease. */
export class Projector {
  readonly #options: ProjectorOptions;
  readonly #queue = new EntryQueue(QUEUE_EVENTS);
  readonly #seeker: LeaseSeeker;
  /** Undefined while this process does not hold the lease. */
  #project: HeldProject | undefined;
  /** Whether the journal may hold rows that are not in memory. */
  #unread = true;
  /** Whether the journal held rows of other processes when it was last read. */
  #shared = false;
  /** Whether agents wait to be folded again, or peaks to be read again. */
  #upkeep = true;
  readonly #loop = new WorkerLoop(async () => {
    await this.#run();
    this.#project?.lease.rest();
    return undefined;
  });
  #last: LastChunk = { endedAt: Number.NEGATIVE_INFINITY, ms: 0, events: 0 };
  /** Events of a chunk that this machine projects in good time. */
  #most = Number.POSITIVE_INFINITY;
  /** Attempts that failed since the last commit. */
  #failures = 0;
  /** Events of the chunk being planned that are left to plan. */
  #unplanned = 0;

  constructor(options: ProjectorOptions) {
    this.#options = options;
    const { writers, projectId, holder, clock, monotonic } = options;
    this.#seeker = new LeaseSeeker({
      table: "projectors",
      projectId,
      writers,
      holder,
      now: () => clock.now(),
      ...(monotonic && { monotonic }),
      ask: options.leftToOthers,
    });
  }

  /** Whether this process projects, as far as it knows. */
  get holding(): boolean {
    return this.#project !== undefined;
  }

  /** Whether nobody has looked for upkeep that an earlier process left. */
  get unstarted(): boolean {
    return this.#upkeep && !this.holding;
  }

  /** How many events this process may hold now. */
  get sizes(): Sizes {
    return sizesFor({ holding: this.holding, shared: this.#shared });
  }

  /** Events in memory that are not planned. Those of the chunk that the database writes do not count. */
  get backlog(): number {
    return this.#queue.waiting + this.#unplanned;
  }

  /** Takes an entry that this process has journaled. */
  offer(entry: JournaledEntry): void {
    if (this.#queue.offer(entry) === "left_to_journal") this.#unread = true;
    if (isUrgent(this.#queue)) this.#loop.endSleep();
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
    this.#loop.wake();
  }

  /** Resolves when none of the entries is in this projector's memory any more. */
  gone(ids: readonly string[]): Promise<void> {
    const gone = this.#queue.gone(ids);
    if (isUrgent(this.#queue)) this.#loop.endSleep();
    return gone;
  }

  /** Projects what is in memory, for a few seconds at most, and hands over. The journal keeps what is left. */
  async close(): Promise<void> {
    await Promise.race([this.#loop.idle(), sleep(CLOSE_MS)]);
    // A database that does not answer must not hold up the stop: the chunk under way is projected again.
    await Promise.race([this.#loop.stop(), sleep(LAST_CHUNK_MS)]);
    if (this.#project !== undefined) {
      const released = this.#project.lease.release().catch(() => {});
      this.#project = undefined;
      await Promise.race([released, sleep(LAST_CHUNK_MS)]);
    }
  }

  /** Stops without projecting what is in memory: the project is being deleted. */
  async discard(): Promise<void> {
    await this.#loop.stop();
    this.#project = undefined;
    this.#queue.clear();
  }

  /** Projects until nothing is left. Two chunks overlap: one is planned while the database writes the previous one. */
  async #run(): Promise<void> {
    let writing: Promise<NotCommitted | undefined> | undefined;
    /** Waits for the previous chunk. Throws if it was not committed. */
    const settle = async (): Promise<void> => {
      const failure = await writing;
      writing = undefined;
      if (failure !== undefined) throw failure;
    };
    while (!this.#loop.stopped) {
      let chunk: Chunk | undefined;
      try {
        const project = await this.#ready();
        if (project === undefined) return;
        if (project.policyChanged) {
          // `considerPolicy` must find the agents that the previous chunk wrote.
          await settle();
          await project.considerPolicy();
          this.#upkeep = true;
        }
        if (!isUrgent(this.#queue)) {
          await settle();
          await this.#pace();
        }
        chunk = this.#take();
        const commands = chunk && commandsOf(chunk);
        if (chunk === undefined) {
          await settle();
          // The transaction of the previous chunk may have seen a change.
          if (project.policyChanged) continue;
          if ((await this.#doUpkeep(project)) || project.policyChanged) continue;
          if (this.#queue.isEmpty && !this.#unread) return;
        } else if (commands !== undefined) {
          await settle();
          await this.#runCommands(project, chunk, commands);
        } else {
          const planned = await this.#plan(project, chunk, settle);
          await settle();
          writing = this.#write(project, planned);
        }
      } catch (error) {
        const previous = error instanceof NotCommitted ? error : await writing;
        writing = undefined;
        if (previous === undefined) await this.#failed(chunk, error);
        else {
          if (chunk !== undefined) this.#queue.putBack(chunk);
          await this.#failed(previous.chunk, previous.cause);
        }
      }
    }
    const failure = await writing;
    if (failure !== undefined)
      this.#options.log.warn({ err: failure.cause }, "the last events are projected at the next start");
  }

  /** Acquires the lease and reads the journal. Returns undefined while another process holds the lease. */
  async #ready(): Promise<HeldProject | undefined> {
    this.#project ??= await this.#acquire();
    const project = this.#project;
    if (project === undefined) {
      this.#forgetQueue();
      return undefined;
    }
    project.lease.work();
    await project.openMemory();
    if (this.#unread && !this.#queue.isFull) await this.#readJournal(project);
    return project;
  }

  async #acquire(): Promise<HeldProject | undefined> {
    const lease = await this.#seeker.acquire();
    const project = lease && (await HeldProject.open(this.#options, lease));
    if (project === undefined) return undefined;
    this.#queue.fallBehind(await countJournal(project, project.projectId));
    this.#unread = true;
    this.#upkeep = true;
    this.#failures = 0;
    return project;
  }

  async #readJournal(project: HeldProject): Promise<void> {
    // Rows may arrive while the journal is read.
    this.#unread = false;
    try {
      const { entries, complete } = await readJournal(project, project.projectId, this.#queue.ids);
      this.#unread ||= !complete;
      this.#shared = this.#queue.addRead(entries, complete) > 0;
    } catch (error) {
      this.#unread = true;
      throw error;
    }
  }

  /** Lets small chunks grow. */
  async #pace(): Promise<void> {
    const isWatched = this.#options.isWatched();
    const ms = msUntilNextChunk(this.#queue, { ...this.#last, isWatched }, performance.now());
    await this.#loop.sleep(ms);
  }

  #take(): Chunk | undefined {
    return this.#queue.take(Math.min(this.sizes.chunk, this.#most));
  }

  /** Plans a chunk. Calls `settle` before each read, because a read must include the previous chunk. */
  async #plan(project: HeldProject, chunk: Chunk, settle: () => Promise<void>): Promise<PlannedChunk> {
    const { projectId, settings, lease } = project;
    const started = performance.now();
    const sql = {
      async query<Row>(text: string, ...values: unknown[]): Promise<Row[]> {
        await settle();
        return project.query<Row>(text, ...values);
      },
    };
    const received = receivedOf(chunk);
    const instanceOf = await shareSessions(sql, project.memory, received);
    const arrivals = await inSlices(groupInSteps(projectId, received, instanceOf));
    if (newestAcknowledged(arrivals) > project.memory.policy.generation) {
      // The version is stored, because a harness has read it. This process has not read it yet.
      await settle();
      await project.considerPolicy();
      this.#upkeep = true;
    }
    const { memory } = project;
    this.#unplanned = chunk.events;
    const pause = (share: number) => {
      this.#unplanned = Math.ceil(chunk.events * (1 - share));
      this.#options.progressed();
      lease.requireHeld();
      return new Promise(setImmediate);
    };
    const plan = await planChunk(sql, memory, arrivals, settings, pause).finally(() => {
      this.#unplanned = 0;
    });
    for (const [code, count] of refusedOf(chunk)) plan.ledger.add(code, count);
    remember(memory, plan);
    this.#upkeep ||=
      plan.rollups.stale || plan.rejudged.size > 0 || plan.resized.size > 0 || plan.refolds.length > 0;
    if ([...plan.rollups.days].some((day) => mayBePacked(day, project.now()))) project.delayPacking();
    const { storedCounts } = plan.ledger;
    const statements = await inSlices(encodeChunk(memory, plan));
    return { chunk, started, statements, storedCounts, outcome: outcomeOf(plan) };
  }

  /** Commits a planned chunk. Never rejects: the loop looks at the failure when it needs to. */
  async #write(
    project: HeldProject,
    { chunk, started, statements, storedCounts, outcome }: PlannedChunk,
  ): Promise<NotCommitted | undefined> {
    try {
      await project.commitChunk(chunk, async (sql, { alerting }) => {
        await sendChunk(sql, statements);
        if (alerting) leaveSignal(sql, project.projectId, outcome.sessions);
        writeCounts(sql, project.projectId, storedCounts, chunk.entries[0]!.receivedAt);
      });
    } catch (error) {
      return new NotCommitted(chunk, error);
    }
    const endedAt = performance.now();
    this.#last = { endedAt, ms: endedAt - started, events: chunk.events };
    this.#most = mostEventsAfter(this.#most, { events: chunk.events, ms: this.#last.ms });
    this.#committed(chunk, outcome);
    return undefined;
  }

  async #runCommands(project: HeldProject, chunk: Chunk, commands: readonly Command[]): Promise<void> {
    await project.commitChunk(chunk, async (sql) => {
      for (const command of commands) await runCommand(sql, project.memory, command, project.now());
    });
    this.#upkeep = true;
    this.#committed(chunk, NOTHING);
  }

  #committed(chunk: Chunk, { counts, requests, sessions, harnesses }: PartOutcome): void {
    const { projectId, projected } = this.#options;
    this.#failures = 0;
    this.#queue.release(chunk);
    projected({ projectId, sessions, harnesses, counts, replies: answerSenders(chunk, requests) });
  }

  /** Does a step of upkeep if one may be due. Returns false if nothing is left to do. */
  async #doUpkeep(project: HeldProject): Promise<boolean> {
    if (!this.#upkeep) return false;
    // Whoever asks for upkeep during the step sets it again.
    this.#upkeep = false;
    const sessions = await upkeepStep(project).catch((error: unknown) => {
      this.#upkeep = true;
      throw error;
    });
    if (sessions !== undefined) {
      this.#upkeep = true;
      this.#committed(NO_ENTRIES, { ...NOTHING, sessions });
    }
    return this.#upkeep;
  }

  /** Decides what to do after an error, with the chunk that was not committed. */
  async #failed(chunk: Chunk | undefined, error: unknown): Promise<void> {
    const project = this.#project;
    project?.forget();
    const isOfEvents = chunk !== undefined && commandsOf(chunk) === undefined;
    if (project === undefined || !isOfEvents) return this.#putBack(chunk, error);
    if (isTimeout(error) && chunk.entries.length > 1) {
      this.#most = Math.max(1, Math.floor(Math.min(this.#most, chunk.events) / 2));
      const { log, projectId } = this.#options;
      log.warn(
        { err: error, projectId, events: chunk.events, next: this.#most },
        "a chunk took too long; projecting fewer events at once",
      );
      return this.#putBack(chunk, error);
    }
    if (hasExternalCause(error) && !(isTimeout(error) && chunk.events > 1))
      return this.#putBack(chunk, error);
    try {
      const outcome = await projectCarefully(project, chunk, error);
      // The events may have made peaks stale.
      this.#upkeep = true;
      this.#committed(chunk, outcome);
    } catch (again) {
      await this.#putBack(chunk, again);
    }
  }

  /** Returns a chunk to the queue for another attempt after a pause. Leaves the queue to another process if it took over. */
  async #putBack(chunk: Chunk | undefined, error: unknown): Promise<void> {
    const { log, projectId } = this.#options;
    if (chunk !== undefined) this.#queue.putBack(chunk);
    const project = this.#project;
    if (error instanceof LeaseLost) {
      this.#project = undefined;
      this.#forgetQueue();
      await project?.lease.contest(log).catch(() => {});
      return;
    }
    this.#failures += 1;
    log.warn({ err: error, projectId }, "the database did not take a chunk; trying again");
    if (this.#failures >= MOST_FAILURES && project !== undefined) {
      this.#project = undefined;
      await project.lease.release().catch(() => {});
      this.#forgetQueue();
    }
    await sleep(RETRY_MS);
  }

  /** Leaves the queue to the process that holds the lease, which reads the rows from the journal. */
  #forgetQueue(): void {
    if (this.#queue.clear()) this.#options.leftToOthers();
  }
}

/** A chunk that was not committed. The plan of the next chunk builds on it. */
class NotCommitted extends Error {
  readonly chunk: Chunk;

  constructor(chunk: Chunk, cause: unknown) {
    super("the previous chunk was not committed", { cause });
    this.chunk = chunk;
  }
}

const NO_ENTRIES: Chunk = { entries: [], events: 0 };
const NOTHING: PartOutcome = { counts: new Map(), requests: new Map(), sessions: [], harnesses: false };

function sleep(ms: number): Promise<unknown> {
  return new Promise((resolve) => setTimeout(resolve, ms).unref());
}
