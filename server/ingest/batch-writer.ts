import type { FoldOptions, FoldResult, Thresholds, TurnFacts } from "@plimsoll/protocol";
import { EMPTY_STATE, extendAgent, foldAgent, mergeTurns, type WindowLookups } from "@plimsoll/protocol";
import type { PrismaClient } from "../db/client.ts";
import type { WriterSql, Writers } from "../db/sql.ts";
import {
  type AgentMemory,
  type KnownAgent,
  lockAgents,
  readAgents,
  versionOf,
  writeAgents,
} from "./agents.ts";
import type { Batch, BatchAgent, BatchMark, BatchSession, BatchTurn } from "./batch.ts";
import { sameReading, sameTurn } from "./batch.ts";
import { type Arrived, agentRow, applyExtension, applyHistory, Changes, turnRowOf } from "./change.ts";
import {
  deleteBoundaries,
  deleteCrossings,
  deleteOtherWindows,
  knownMarks,
  readAgentCrossings,
  readAgentMarks,
  reportedRow,
  settleBoundaries,
  writeCrossings,
  writeInferred,
  writeReported,
  writeWindows,
} from "./marks.ts";
import type { ModelNumbers } from "./models.ts";
import { NeedsCare } from "./needs-care.ts";
import { type Outcome, OutcomeCounts } from "./outcomes.ts";
import { writePending } from "./pending.ts";
import { createSessions, lockHarnesses } from "./sessions.ts";
import type { Totals } from "./totals.ts";
import {
  insertNewTurns,
  insertTurns,
  readAgentTurns,
  readTurns,
  sameRow,
  shareOf,
  type TurnRow,
  updateTurns,
} from "./turns.ts";

export interface WriterOptions {
  prisma: PrismaClient;
  writers: Writers;
  models: ModelNumbers;
  agents: AgentMemory;
  totals: Totals;
  thresholds: (projectId: number) => Thresholds;
  lookups: (projectId: number) => WindowLookups;
}

/** What to do once the transaction is committed. */
interface Written {
  counts: OutcomeCounts;
  /** Fills in the tallies of the requests. */
  answer: () => void;
  /** Where the agents stand then. */
  agents: (KnownAgent & { id: string })[];
}

/** An agent whose events continue its history, as far as can be told before the turns are inserted. */
interface Extending {
  arrived: Arrived;
  options: FoldOptions;
  result: FoldResult;
  rows: TurnRow[];
}

/** Writes one batch within one transaction. */
export class BatchWriter {
  readonly #options: WriterOptions;
  readonly #sql: WriterSql;
  readonly #batch: Batch;
  readonly #changes = new Changes();
  readonly #answeredTurns: { arrivals: BatchTurn["arrivals"]; told: boolean }[] = [];
  readonly #answeredMarks: { arrivals: BatchMark["arrivals"]; isNew: boolean }[] = [];
  readonly #counts = new OutcomeCounts();

  /** Whether the batch's agents are locked, so that turns and marks may repeat and histories may be read. */
  readonly #careful: boolean;
  /** Marks that are not stored yet, by agent. */
  readonly #marks = new Map<string, Map<string, BatchMark>>();

  constructor(options: WriterOptions, sql: WriterSql, batch: Batch, careful: boolean) {
    this.#options = options;
    this.#sql = sql;
    this.#batch = batch;
    this.#careful = careful;
  }

  async write(extra: OutcomeCounts): Promise<Written> {
    const agents = [...this.#batch.agents.values()];
    const ofSessions = agents.filter((agent) => agent.sessionId !== undefined) as Arrived["agent"][];
    await lockHarnesses(
      this.#sql,
      agents.filter((agent) => agent.sessionId === undefined).map((agent) => agent.id),
    );
    const [known] = await Promise.all([this.#knownAgents(ofSessions), this.#findNewMarks(agents)]);

    const extending: Extending[] = [];
    for (const agent of ofSessions) {
      const arrived = this.#arrived(agent, known.get(agent.id));
      const extension = agent.reread ? undefined : this.#extend(arrived);
      if (extension === undefined) await this.#readAgain(arrived, new Set());
      else extending.push(extension);
    }
    for (const agent of agents) if (agent.sessionId === undefined) this.#keepHarnessMarks(agent);

    const inserts = extending.flatMap((extension) => extension.rows);
    if (this.#careful) await this.#insert(extending, inserts);
    else for (const extension of extending) this.#accept(extension);
    this.#counts.addAll(extra);
    this.#flush(this.#careful ? [] : inserts);
    return {
      counts: this.#counts,
      answer: () => this.#answer(),
      agents: this.#changes.agents.map((row) => ({
        id: row.id,
        state: row.state,
        tally: row.tally,
        version: versionOf(row),
      })),
    };
  }

  async #knownAgents(agents: readonly Arrived["agent"][]): Promise<ReadonlyMap<string, KnownAgent>> {
    if (this.#careful) return lockAgents(this.#sql, agents);
    const remembered = new Map<string, KnownAgent>();
    const strangers: Arrived["agent"][] = [];
    for (const agent of agents) {
      const known = this.#options.agents.get(agent.id);
      if (known === undefined) strangers.push(agent);
      else remembered.set(agent.id, known);
    }
    for (const [id, known] of await readAgents(this.#sql, strangers)) remembered.set(id, known);
    return remembered;
  }

  #arrived(agent: Arrived["agent"], known: KnownAgent | undefined): Arrived {
    const marks = this.#marks.get(agent.id) ?? new Map();
    return { agent, known, marks, thresholds: this.#options.thresholds(agent.projectId) };
  }

  #foldOptions({ agent, thresholds }: Arrived): FoldOptions {
    return { thresholds, lookups: this.#options.lookups(agent.projectId) };
  }

  /** Tries to continue from where the agent stands, taking every turn for a new one. */
  #extend(arrived: Arrived): Extending | undefined {
    const { agent, known, marks } = arrived;
    // A stream tells of its latest turn again and again.
    if (!this.#careful && agent.turns.has(known?.state.tail?.key ?? "")) throw new NeedsCare("turn_repeats");
    const options = this.#foldOptions(arrived);
    const turns = [...agent.turns.values()].map((turn) => turn.facts);
    const result = extendAgent(
      known?.state ?? EMPTY_STATE,
      turns,
      [...marks.values()].map((mark) => mark.facts),
      options,
    );
    if (result === undefined) return undefined;
    const rows = result.turns.map((reading) =>
      turnRowOf(agent, reading, this.#options.models.number(agent.projectId, reading.turn.model)),
    );
    return { arrived, options, result, rows };
  }

  /** Marks that are stored already change nothing. On the quick way an agent's are new, or their key is there. */
  async #findNewMarks(agents: readonly BatchAgent[]): Promise<void> {
    const marks = agents.flatMap((agent) => [...agent.marks.keys()].map((id) => ({ agent, id })));
    const known = await knownMarks(
      this.#sql,
      this.#careful ? marks : marks.filter(({ agent }) => agent.sessionId === undefined),
    );
    for (const { agent, id } of marks) {
      const arrivals = agent.marks.get(id)!.arrivals;
      const isNew = !known.has(`${agent.id}/${id}`);
      if (isNew) {
        const fresh = this.#marks.get(agent.id) ?? new Map<string, BatchMark>();
        this.#marks.set(agent.id, fresh.set(id, agent.marks.get(id)!));
      }
      this.#count(agent, "mark", isNew ? 1 : 0);
      this.#count(agent, "duplicate", arrivals.length - (isNew ? 1 : 0));
      this.#answeredMarks.push({ arrivals, isNew });
    }
  }

  #keepHarnessMarks(agent: BatchAgent): void {
    for (const { event, facts } of this.#marks.get(agent.id)?.values() ?? []) {
      const reading = {
        id: facts.id,
        type: facts.type,
        at: facts.at,
        window: 0,
        tokensBefore: undefined,
        tokensAfter: undefined,
      };
      this.#changes.reported.push(reportedRow(agent, undefined, event, reading));
    }
  }

  /** Inserts the turns of agents that continue, and corrects the agents whose turns were not all new. */
  async #insert(extending: readonly Extending[], rows: readonly TurnRow[]): Promise<void> {
    const positions = await insertTurns(this.#sql, rows, this.#batch.receivedAt);
    const present = new Set(positions.map((position) => rows[position]!));
    const stored = new Map(
      (await readTurns(this.#sql, [...present], this.#options.models)).map((row) => [
        `${row.agentId}/${row.facts.key}`,
        row,
      ]),
    );
    for (const extension of extending) {
      const repeated = extension.rows.filter((row) => present.has(row));
      if (repeated.length === 0) this.#accept(extension);
      else await this.#correct(extension, repeated, stored);
    }
  }

  #accept({ arrived, result, rows }: Extending): void {
    const { agent } = arrived;
    for (const row of rows) {
      this.#changes.rollups.addTurn(shareOf(row, agent.harness));
      this.#settleTurn(agent, agent.turns.get(row.facts.key)!, "new");
    }
    if (result.turns.length > 0 || result.marks.size > 0) applyExtension(this.#changes, arrived, result);
    else this.#touch(arrived);
  }

  /** Some turns were there already: those that tell nothing new fall out, the others are merged. */
  async #correct(
    extension: Extending,
    repeated: readonly TurnRow[],
    stored: Map<string, TurnRow>,
  ): Promise<void> {
    const { arrived, options } = extension;
    const { agent } = arrived;
    const merges = repeated.map((row) => {
      const before = stored.get(`${agent.id}/${row.facts.key}`)!;
      return { before, after: mergeTurns(before.facts, row.facts) };
    });
    const inserted = extension.rows.filter((row) => !repeated.includes(row));
    if (merges.some(({ before, after }) => !sameReading(before.facts, after))) {
      await this.#readAgain(arrived, new Set(inserted.map((row) => row.facts.key)));
      return;
    }
    const result = extendAgent(
      arrived.known?.state ?? EMPTY_STATE,
      inserted.map((row) => row.facts),
      [...arrived.marks.values()].map((mark) => mark.facts),
      options,
    );
    if (result === undefined) {
      await this.#readAgain(arrived, new Set(inserted.map((row) => row.facts.key)));
      return;
    }
    for (const { before, after } of merges) this.#merge(agent, before, after);
    const optimistic = new Map(inserted.map((row) => [row.facts.key, row]));
    for (const reading of result.turns) {
      const row = turnRowOf(agent, reading, this.#options.models.number(agent.projectId, reading.turn.model));
      if (!sameRow(optimistic.get(row.facts.key)!, row)) this.#changes.turnUpdates.push(row);
      this.#changes.rollups.addTurn(shareOf(row, agent.harness));
      this.#settleTurn(agent, agent.turns.get(row.facts.key)!, "new");
    }
    if (result.turns.length > 0 || result.marks.size > 0) applyExtension(this.#changes, arrived, result);
    else this.#touch(arrived);
  }

  #merge(agent: BatchAgent, before: TurnRow, facts: TurnFacts): void {
    const changed = !sameTurn(before.facts, facts);
    this.#settleTurn(agent, agent.turns.get(facts.key)!, changed ? "changed" : "same");
    if (!changed) return;
    const after = { ...before, facts };
    this.#changes.turnUpdates.push(after);
    this.#changes.rollups.replaceTurn(shareOf(before, agent.harness), shareOf(after, agent.harness));
  }

  /** Reads the whole history of an agent, folds it again and writes the differences. */
  async #readAgain(arrived: Arrived, inserted: ReadonlySet<string>): Promise<void> {
    if (!this.#careful) throw new NeedsCare("history_needed");
    const { agent } = arrived;
    const rows = await readAgentTurns(this.#sql, agent, this.#options.models);
    const stored = new Map(rows.map((row) => [row.facts.key, row]));
    const turns = new Map(rows.map((row) => [row.facts.key, row.facts]));
    for (const [key, turn] of agent.turns) {
      const before = turns.get(key);
      if (before === undefined || inserted.has(key)) {
        this.#settleTurn(agent, turn, "new");
        if (before === undefined) turns.set(key, turn.facts);
        continue;
      }
      const merged = mergeTurns(before, turn.facts);
      const changed = !sameTurn(before, merged);
      this.#settleTurn(agent, turn, changed ? "changed" : "same");
      if (changed) turns.set(key, merged);
    }
    const marks = await readAgentMarks(this.#sql, agent);
    const crossings = await readAgentCrossings(this.#sql, agent);
    const facts = [
      ...marks.filter((mark) => mark.origin === 0).map((mark) => mark.facts),
      ...[...arrived.marks.values()].map((mark) => mark.facts),
    ];
    const result = foldAgent([...turns.values()], facts, this.#foldOptions(arrived));
    const before = this.#changes.turnInserts.length;
    applyHistory(this.#changes, arrived, { turns: stored, inserted, marks, crossings }, result, (model) =>
      this.#options.models.number(agent.projectId, model),
    );
    // It is locked and its turns were read: these inserts cannot meet a turn that is there.
    await insertTurns(this.#sql, this.#changes.turnInserts.slice(before), this.#batch.receivedAt);
  }

  /** An agent that was heard from without learning anything: only its times move. */
  #touch(arrived: Arrived): void {
    const { known } = arrived;
    if (known !== undefined) this.#changes.agents.push(agentRow(arrived, known.state, known.tally));
  }

  #flush(inserts: readonly TurnRow[]): void {
    const sql = this.#sql;
    const changes = this.#changes;
    const { receivedAt, sessions, harnesses } = this.#batch;
    const moved = new Set<BatchSession>();
    const created = new Set<BatchSession>();
    for (const { sessionId, before } of changes.agents) {
      const session = sessions.get(sessionId)!;
      moved.add(session);
      if (before === undefined) created.add(session);
    }
    // The agents come first, for their rows are the lock on all that is theirs.
    writeAgents(sql, changes.agents, receivedAt);
    createSessions(sql, [...created], receivedAt);
    insertNewTurns(sql, inserts, receivedAt);
    updateTurns(sql, changes.turnUpdates);
    deleteBoundaries(sql, changes.boundaryDeletes.map(keyed));
    writeReported(sql, changes.reported, receivedAt);
    writeInferred(sql, changes.inferred, receivedAt);
    settleBoundaries(sql, changes.settled);
    writeWindows(sql, changes.windows);
    for (const { agent, kept } of changes.otherWindows) deleteOtherWindows(sql, agent, kept);
    deleteCrossings(sql, changes.crossingDeletes.map(keyed));
    writeCrossings(sql, changes.crossings);
    const additions = { rollups: changes.rollups, counts: this.#counts };
    writePending(sql, { receivedAt, sessions: moved, harnesses: harnesses.values(), ...additions });
  }

  #settleTurn(agent: BatchAgent, turn: BatchTurn, first: "new" | "changed" | "same"): void {
    const { arrivals } = turn;
    let accepted = 0;
    if (first !== "same") for (const { changed } of arrivals) if (changed) accepted += 1;
    this.#count(agent, "turn", first === "new" ? 1 : 0);
    this.#count(agent, "turn_merged", first === "new" ? accepted - 1 : accepted);
    this.#count(agent, "duplicate", arrivals.length - accepted);
    this.#answeredTurns.push({ arrivals, told: first !== "same" });
  }

  #count({ projectId }: BatchAgent, outcome: Outcome, count: number): void {
    this.#counts.add(projectId, outcome, count);
  }

  #answer(): void {
    for (const { arrivals, told } of this.#answeredTurns) {
      for (const { request, changed } of arrivals) {
        if (changed && told) request.accepted += 1;
        else request.duplicates += 1;
      }
    }
    for (const { arrivals, isNew } of this.#answeredMarks) {
      for (const [index, request] of arrivals.entries()) {
        if (isNew && index === 0) request.accepted += 1;
        else request.duplicates += 1;
      }
    }
  }
}

function keyed<T extends { agent: BatchAgent; id: string }>(row: T) {
  return { agent: row.agent, id: row.id };
}
