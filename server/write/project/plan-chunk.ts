import { STEP_EVENTS, type Steps, type TurnReading } from "@plimsoll/fold";
import type { Sql } from "../../db/sql.ts";
import type { AgentContentsRow } from "../../db/tables/agent-contents.ts";
import { type BoundaryRow, reportedRow } from "../../db/tables/boundaries.ts";
import type { Outcome } from "../../db/tables/ingest-counts.ts";
import type { RollupNameRow } from "../../db/tables/rollup-names.ts";
import { lookUp, recall } from "../memory/look-up.ts";
import type { ProjectMemory } from "../memory/memory.ts";
import type { AgentChanges, AgentOptions, KnownAgent, RowChanges } from "../plan/agent-changes.ts";
import { type AgentNews, hasEvents, NOTHING_STORED, newsOf, outcomeOfFacts } from "../plan/agent-news.ts";
import type { ArrivedQuota } from "../plan/arrived-quotas.ts";
import type { Arrivals, ArrivedAgent, ArrivedHarness, ArrivedMachine } from "../plan/group-events.ts";
import { inSlices, slicer } from "../plan/in-slices.ts";
import { Ledger, type RequestOutcome } from "../plan/outcomes.ts";
import { type AgentChange, planSession, type SessionPlan } from "../plan/plan-session.ts";
import { RollupChanges } from "../plan/rollup-changes.ts";
import type { AgentMove } from "./move-agents.ts";
import { type AgentOfSession, atItsAddress, changesFromMemory, foldAgain } from "./plan-agent.ts";

/** What a chunk of events changes. */
export interface ChunkPlan {
  agents: AgentChanges[];
  /** Marks of harnesses, which belong to no agent. */
  harnessMarks: BoundaryRow[];
  sessions: SessionPlan[];
  moves: AgentMove[];
  harnesses: ArrivedHarness[];
  machines: ArrivedMachine[];
  contents: AgentContentsRow[];
  quotas: ArrivedQuota[];
  describedSessions: string[];
  describedHarnesses: string[];
  rollups: RollupChanges;
  /** Names that the rollups get with this chunk. */
  rollupNames: RollupNameRow[];
  /** When each model of the chunk was received, epoch ms. */
  models: Map<string, number>;
  /** Harnesses whose thresholds changed, with the time (epoch ms) of the earliest change. */
  rejudged: Map<string, number>;
  /** Models whose turns without a size had another one before, by family of harnesses. */
  resized: Map<string, string[]>;
  /** Agents whose late events change more than one chunk folds again. */
  refolds: DeferredRefold[];
  ledger: Ledger;
}

export interface DeferredRefold {
  agentId: string;
  /** The cut from which the rest is to be folded again. Epoch ms. */
  doneTo: number;
}

/** What was projected of some events. */
export interface PartOutcome {
  /** Events by outcome or code. */
  counts: ReadonlyMap<string, number>;
  /** By the number of the request. */
  requests: ReadonlyMap<number, RequestOutcome>;
  /** Ids of the sessions that changed. */
  sessions: readonly string[];
  /** Whether a harness said something of itself or of its policy. */
  harnesses: boolean;
}

/** The outcome of a plan once it is committed. */
export function outcomeOf({ ledger, sessions, moves, harnessMarks }: ChunkPlan): PartOutcome {
  const { counts, requests } = ledger;
  return {
    counts,
    requests,
    sessions: [...sessions.map(({ after }) => after.row.id), ...moves.map(({ from }) => from)],
    harnesses: harnessMarks.length > 0,
  };
}

/** How events of a project are read. */
export type ProjectSettings = Pick<AgentOptions, "segmentTurns" | "refoldEvents"> & {
  /** See `NAMES_PER_DAY`. */
  namesPerDay: number;
};

/**
 * Plans a chunk. Every change follows from the events, the memory and what `sql` reads.
 * @param pause called every few milliseconds with the share that is planned; resolves when planning may go on
 */
export async function planChunk(
  sql: Pick<Sql, "query">,
  memory: ProjectMemory,
  arrivals: Arrivals,
  settings: ProjectSettings,
  pause: (share: number) => Promise<unknown> = () => new Promise(setImmediate),
): Promise<ChunkPlan> {
  const owners = [...arrivals.agents.values()];
  const plan = emptyPlan(arrivals);
  for (const { harness, marks } of owners.filter(acknowledges)) {
    const from = await memory.acknowledge(sql, harness, marks.values());
    if (from !== undefined) plan.rejudged.set(harness, from);
  }
  const optionsOf = await agentOptions(
    sql,
    memory,
    settings,
    new Set([
      ...[...arrivals.harnesses.values()].map(({ instance }) => instance),
      ...owners.map(({ harness }) => harness),
    ]),
  );
  plan.models = nameModels(memory, owners, settings.namesPerDay);
  plan.resized = memory.observed.learn(reportedSizes(arrivals));
  const bySession = new Map<string, AgentChange[]>();
  let planned = 0;
  const add = async (owner: ArrivedAgent, news: AgentNews, changes: AgentChanges | undefined) => {
    planned += 1;
    addNews(plan, owner, news);
    if (changes === undefined) return;
    addChanges(plan, bySession, changes);
    await inSlices(addToRollups(plan.rollups, changes), slice);
  };
  const slice = slicer(() => pause(planned / owners.length));
  /** Returns false if the agent's history must be read. */
  const planFromMemory = async (owner: ArrivedAgent, known: KnownAgent | undefined, news: AgentNews) => {
    // An agent is made by its first event; one heard from without learning anything only moves its times.
    if (!isOfSession(owner) || (known === undefined && !hasEvents(news))) await add(owner, news, undefined);
    else {
      const options = optionsOf(owner.harness);
      const steps = changesFromMemory(memory, atItsAddress(owner, known), known, news, options);
      const changes = await inSlices(steps, slice);
      if (changes === undefined) return false;
      await add(owner, news, changes);
    }
    await slice();
    return true;
  };
  // A read waits until the chunk before is written. Until then, the agents are planned of which nothing has to be read.
  const unread: ArrivedAgent[] = [];
  for (const owner of owners) {
    const stored = recall(memory, owner);
    const known = memory.agents.get(owner.id);
    const isPlanned =
      stored !== undefined && (await planFromMemory(owner, known, newsOf(owner, stored, known)));
    if (!isPlanned) unread.push(owner);
  }
  const agents = await memory.loadAgents(
    sql,
    unread.filter(isOfSession).map(({ id }) => id),
  );
  const stored = await lookUp(sql, memory, agents, unread);
  for (const owner of unread) {
    const known = agents.get(owner.id);
    const news = newsOf(owner, stored.get(owner.id) ?? NOTHING_STORED, known);
    if (await planFromMemory(owner, known, news)) continue;
    // Of an agent of a session that is known: the events of a new one come before nothing.
    const agent = atItsAddress(owner as AgentOfSession, known);
    const { changes, doneTo } = await foldAgain(sql, memory, agent, known!, news, optionsOf(owner.harness));
    if (doneTo !== undefined) plan.refolds.push({ agentId: agent.id, doneTo });
    await add(agent, news, changes);
    await slice();
  }
  // A sub-agent may be heard from under its own session, which has no row.
  const sessions = await memory.loadSessions(sql, [...bySession.keys()]);
  for (const [id, changes] of bySession) {
    const session = sessions.get(id);
    const arrived = arrivals.sessions.get(id);
    plan.sessions.push(planSession(session?.row ?? arrived!, session, changes, arrived?.origin));
  }
  const { admitted, described } = await memory.admitHarnesses(sql, plan.harnesses, settings.namesPerDay);
  plan.harnesses = admitted;
  plan.describedHarnesses = described;
  plan.machines = await memory.admitMachines(sql, plan.machines, settings.namesPerDay);
  plan.quotas = memory.admitQuotas(plan.quotas);
  plan.rollupNames = await memory.rollupNames.admit(sql, plan.rollups, settings.namesPerDay);
  return plan;
}

/** What the fold of each harness' agents needs. */
export async function agentOptions(
  sql: Pick<Sql, "query">,
  memory: ProjectMemory,
  settings: ProjectSettings,
  harnesses: Iterable<string>,
): Promise<(harness: string) => AgentOptions> {
  const timelineOf = await memory.loadTimelines(sql, harnesses);
  const common = {
    ...settings,
    modelId: (name: string) => memory.modelId(name),
    nextNumber: () => memory.nextNumber(),
  };
  return cached((harness) => ({
    ...common,
    fold: { thresholds: timelineOf(harness), lookups: memory.lookupsOf(harness) },
  }));
}

function cached<Value>(make: (key: string) => Value): (key: string) => Value {
  const made = new Map<string, Value>();
  return (key) => {
    let value = made.get(key);
    if (value === undefined) {
      value = make(key);
      made.set(key, value);
    }
    return value;
  };
}

const acknowledges = ({ sessionId, marks }: ArrivedAgent): boolean =>
  sessionId === undefined && [...marks.values()].some(({ facts }) => facts.type === "policy_ack");

/** The newest generation of a policy that one of the events acknowledges; 0 if none does. */
export function newestAcknowledged({ agents }: Arrivals): number {
  let newest = 0;
  for (const owner of agents.values()) {
    if (owner.sessionId !== undefined) continue;
    for (const { facts, detail } of owner.marks.values())
      if (facts.type === "policy_ack") newest = Math.max(newest, detail.generation as number);
  }
  return newest;
}

/** Gives each turn a model that the project has or may still get. Returns the models with a time of receipt. */
function nameModels(
  memory: ProjectMemory,
  owners: readonly ArrivedAgent[],
  perDay: number,
): Map<string, number> {
  const models = new Map<string, number>();
  for (const { turns } of owners) {
    let last: { sent: string; model: string } | undefined;
    for (const { facts, receivedAt } of turns.values()) {
      if (facts.isToolResult) continue;
      if (facts.model !== last?.sent) {
        last = { sent: facts.model, model: memory.admitModel(facts.model, receivedAt, perDay) };
        models.set(last.model, receivedAt);
      }
      facts.model = last.model;
    }
  }
  return models;
}

function* reportedSizes({ sizes }: Arrivals) {
  for (const [harness, models] of sizes)
    for (const [model, reported] of models) yield { harness, model, sizes: reported };
}

function emptyPlan({ sessions, harnesses, machines, contents, quotas, quotaRequests }: Arrivals): ChunkPlan {
  const ledger = new Ledger();
  for (const request of quotaRequests) ledger.record("quota", request);
  return {
    agents: [],
    harnessMarks: [],
    sessions: [],
    moves: [],
    harnesses: [...harnesses.values()],
    machines: [...machines.values()],
    contents: [...contents.values()],
    quotas: [...quotas.values()],
    describedSessions: [...sessions.values()].filter(({ described }) => described).map(({ id }) => id),
    describedHarnesses: [],
    rollups: new RollupChanges(),
    rollupNames: [],
    models: new Map(),
    rejudged: new Map(),
    resized: new Map(),
    refolds: [],
    ledger,
  };
}

function addNews(plan: ChunkPlan, owner: ArrivedAgent, news: AgentNews): void {
  for (const { outcome, request } of news.outcomes) plan.ledger.record(outcome, request);
  if (isOfSession(owner)) return;
  for (const mark of [...news.newMarks, ...news.replacedMarks.map(({ after }) => after)]) {
    plan.harnessMarks.push(harnessRow(owner, mark));
  }
}

function addChanges(plan: ChunkPlan, bySession: Map<string, AgentChange[]>, changes: AgentChanges): void {
  plan.agents.push(changes);
  countReadings(plan.ledger, changes.rows.turns);
  const { after } = changes;
  const { id: agentId, sessionId: to } = after.row;
  const from = changes.before?.sessionId ?? to;
  if (from !== to) plan.moves.push({ agentId, from, to });
  // To the session that it moves to, an agent is new.
  const before = from === to ? changes.before : undefined;
  const change = { before, after: after.row, refolded: false };
  const siblings = bySession.get(after.row.sessionId);
  if (siblings === undefined) bySession.set(after.row.sessionId, [change]);
  else siblings.push(change);
}

/** Has each turn count as what the fold found: the end of a tool call that is reported as a call later is a turn from then on. */
function countReadings(ledger: Ledger, { added, replaced }: RowChanges["turns"]): void {
  for (const reading of added) ledger.move(outcomeOfFacts(reading.turn), outcomeOfReading(reading));
  for (const { before, after } of replaced) ledger.move(outcomeOfReading(before), outcomeOfReading(after));
}

const outcomeOfReading = ({ isRepeat, turn }: TurnReading): Outcome =>
  isRepeat && !turn.isToolResult ? "turn_repeated" : outcomeOfFacts(turn);

function isOfSession(agent: ArrivedAgent): agent is AgentOfSession {
  return agent.sessionId !== undefined;
}

function harnessRow(
  owner: ArrivedAgent,
  mark: Parameters<typeof reportedRow>[0] & { receivedAt: number },
): BoundaryRow {
  const { id, type, at } = mark.facts;
  const reading = { id, type, at, window: 0, tokensBefore: undefined, tokensAfter: undefined };
  return reportedRow(mark, reading, { agentId: owner.id, sessionId: undefined, receivedAt: mark.receivedAt });
}

export function* addToRollups(
  rollups: RollupChanges,
  { harness, rows: { turns, boundaryCounts } }: AgentChanges,
): Steps<void> {
  let done = 0;
  for (const reading of turns.added) {
    rollups.addTurn(harness, reading);
    if (++done % STEP_EVENTS === 0) yield;
  }
  for (const { before, after } of turns.replaced) {
    rollups.replaceTurn(harness, before, after);
    if (++done % STEP_EVENTS === 0) yield;
  }
  for (const { reading, count } of boundaryCounts) {
    rollups.addBoundary(harness, reading, count);
    if (++done % STEP_EVENTS === 0) yield;
  }
}
