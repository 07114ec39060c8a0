import {
  catalogWindow,
  lookupByName,
  type ObservedWindows,
  type ThresholdTimeline,
  type WindowLookup,
} from "@plimsoll/fold";
import type { Sql } from "../../db/sql.ts";
import { type AgentOutcomesRow, agentOutcomes } from "../../db/tables/agent-outcomes.ts";
import type { AgentRow } from "../../db/tables/agents.ts";
import type { BoundaryRow } from "../../db/tables/boundaries.ts";
import { crossingOriginCode } from "../../db/tables/codes.ts";
import type { CrossingRow } from "../../db/tables/crossings.ts";
import { models } from "../../db/tables/models.ts";
import { readObservedWindows } from "../../db/tables/observed-windows.ts";
import { FallUnpacker } from "../../db/tables/packed-falls.ts";
import { packStored } from "../../db/tables/packed-state.ts";
import type { WindowRow } from "../../db/tables/windows.ts";
import { type HarnessAcks, readAcknowledgements } from "../../lines/acknowledgements.ts";
import { PolicyBook } from "../../lines/policy-book.ts";
import { type AgentChanges, type RowChanges, tallyOf } from "../../write/plan/agent-changes.ts";
import type { AgentNews } from "../../write/plan/agent-news.ts";
import { KnownKeys } from "../../write/plan/known-keys.ts";
import { type History, openHistory } from "../../write/plan/read-history.ts";
import { refoldAgent } from "../../write/plan/refold-agent.ts";
import { type CountedHistory, countsOf } from "../../write/project/count-outcomes.ts";
import { type ComparedRow, differingColumns } from "./differing-columns.ts";

/** What the fold of any agent of a project needs. */
export interface RecomputeSettings {
  projectId: number;
  policy: PolicyBook;
  /** By harness instance; filled as agents are computed. */
  acks: Map<string, HarnessAcks>;
  /** Names of models by number. */
  names: ReadonlyMap<number, string>;
  /** Window sizes that a person set. */
  configured: WindowLookup;
  /** Window sizes that harnesses reported. */
  observed: ObservedWindows;
}

const MODELS = `SELECT ${models.select("t")} FROM models t WHERE t.project_id = $1`;
const SIZES = "SELECT model, tokens FROM model_windows WHERE project_id = $1";

export async function readRecomputeSettings(
  sql: Pick<Sql, "query">,
  projectId: number,
): Promise<RecomputeSettings> {
  const policy = await PolicyBook.read(sql, projectId);
  const names = await sql.query<Record<string, unknown>>(MODELS, projectId);
  const sizes = await sql.query<{ model: string; tokens: number }>(SIZES, projectId);
  return {
    projectId,
    policy,
    acks: new Map(),
    names: new Map(names.map((row) => models.parse(row)).map(({ id, name }) => [id, name])),
    configured: lookupByName(new Map(sizes.map(({ model, tokens }) => [model, tokens]))),
    observed: await readObservedWindows(sql, projectId),
  };
}

const NO_NEWS: AgentNews = { newTurns: [], changedTurns: [], newMarks: [], replacedMarks: [], outcomes: [] };

/**
 * Folds one agent's whole history again, segment by segment. Returns what is stored differently, as `table.column` or
 * `table (row missing)`, without repetition. Writes nothing.
 */
export async function recomputeAgent(
  sql: Pick<Sql, "query">,
  agent: AgentRow,
  harness: string,
  settings: RecomputeSettings,
): Promise<string[]> {
  const { projectId, names, configured, observed } = settings;
  const number = new Map([...names].map(([id, name]) => [name, id]));
  const differences = new Set<string>();
  const modelName = (id: number) => {
    const name = names.get(id);
    if (name === undefined) differences.add("turns.model_id");
    return name ?? "";
  };
  const timeline = await timelineOf(sql, harness, settings);
  const history = new RecordedHistory(openHistory(sql, projectId, agent, modelName));
  const { changes } = await refoldAgent({
    history,
    agent: { ...agent, harness, receivedAt: agent.lastReceivedAt, stopped: undefined },
    known: { row: { ...agent, state: undefined }, stored: undefined, keys: KnownKeys.empty() },
    news: NO_NEWS,
    options: {
      fold: {
        thresholds: timeline,
        lookups: {
          configured,
          observed: (model) => observed.read(harness, model),
          catalog: catalogWindow,
        },
      },
      // The fold keeps the stored cuts and makes none of its own, so each of them is proven.
      segmentTurns: Number.POSITIVE_INFINITY,
      refoldEvents: Number.POSITIVE_INFINITY,
      modelId: (model) => number.get(model) ?? -1,
      nextNumber: () => agent.number,
    },
    extent: "to_the_end",
  });
  for (const difference of [
    ...turnDifferences(changes.rows.turns),
    ...boundaryDifferences(changes.rows.boundaries, history, agent),
    ...crossingDifferences(changes.rows.crossings, history, agent),
    ...windowDifferences(changes, history, agent),
    ...segmentDifferences(changes.rows.segments, history),
    ...agentDifferences(changes, history, agent),
    ...(await outcomeDifferences(sql, agent, {
      ...{ projectId, timeline, modelName },
      sinceFall: changes.after.stored?.state.sinceFall,
    })),
  ])
    differences.add(difference);
  return [...differences].sort();
}

const OUTCOMES = `SELECT ${agentOutcomes.select("o")} FROM agent_outcomes o WHERE o.project_id = $1 AND o.agent = $2`;

/** An agent that changed a moment ago is counted later. */
async function outcomeDifferences(
  sql: Pick<Sql, "query">,
  { number: agent, uncounted }: AgentRow,
  source: Omit<CountedHistory, "agent">,
): Promise<string[]> {
  const { projectId } = source;
  const [stored] = await sql.query<Record<string, unknown>>(OUTCOMES, projectId, agent);
  if (uncounted) return [];
  const row = stored && agentOutcomes.parse(stored);
  // An agent may be counted when its state was dropped. What followed its latest fall is unknown then.
  const isFollowed = row?.falls !== undefined && new FallUnpacker().unpack(row.falls).since !== undefined;
  const sinceFall = isFollowed ? source.sinceFall : undefined;
  const counts = await countsOf(sql, { ...source, agent, sinceFall });
  return rowDifferences("agent_outcomes", row && inHex(row), inHex(counts));
}

const inHex = ({
  cells,
  work,
  wrong,
  called,
  falls,
}: Pick<AgentOutcomesRow, "cells" | "work" | "wrong" | "called" | "falls">) => ({
  cells: Buffer.from(cells).toString("hex"),
  work: Buffer.from(work).toString("hex"),
  wrong: Buffer.from(wrong).toString("hex"),
  called: Buffer.from(called).toString("hex"),
  falls: falls && Buffer.from(falls).toString("hex"),
});

async function timelineOf(
  sql: Pick<Sql, "query">,
  harness: string,
  { projectId, policy, acks }: RecomputeSettings,
): Promise<ThresholdTimeline> {
  let known = acks.get(harness);
  if (known === undefined) {
    known = (await readAcknowledgements(sql, projectId, [harness])).get(harness)!;
    acks.set(harness, known);
  }
  return policy.timelineOf(harness, known.acks);
}

/** Keeps what a refold reads, for the columns that it does not compare itself. */
class RecordedHistory implements History {
  readonly #history: History;
  readonly boundaries = new Map<string, BoundaryRow>();
  readonly crossings = new Map<string, CrossingRow>();
  readonly summaries = new Map<number, string>();
  readonly states = new Map<number, string>();
  readonly windowRows = new Map<number, WindowRow>();
  firstAt = Number.POSITIVE_INFINITY;
  lastAt = Number.NEGATIVE_INFINITY;
  lastReceivedAt = Number.NEGATIVE_INFINITY;

  constructor(history: History) {
    this.#history = history;
  }

  async cuts() {
    const cuts = await this.#history.cuts();
    for (const { endsAt, summary } of cuts) this.summaries.set(endsAt, summary);
    return cuts;
  }

  async state(endsAt: number) {
    const state = await this.#history.state(endsAt);
    this.states.set(endsAt, state);
    return state;
  }

  async stretch(stretch: Parameters<History["stretch"]>[0]) {
    const stored = await this.#history.stretch(stretch);
    for (const { row } of stored.turns) this.#event(row.at, row.at + row.delay * 1_000 - ROUNDING_MS);
    for (const row of stored.marks) {
      this.boundaries.set(row.id, row);
      this.#event(row.at, row.receivedAt);
    }
    for (const row of stored.crossings) this.crossings.set(row.id, row);
    return stored;
  }

  async windows() {
    const rows = await this.#history.windows();
    for (const row of rows) this.windowRows.set(row.index, row);
    return rows;
  }

  #event(at: number, receivedAt: number): void {
    this.firstAt = Math.min(this.firstAt, at);
    this.lastAt = Math.max(this.lastAt, at);
    this.lastReceivedAt = Math.max(this.lastReceivedAt, receivedAt);
  }
}

/** A turn keeps its time of receipt in whole seconds. */
const ROUNDING_MS = 1_000;

function* turnDifferences({ added, replaced }: RowChanges["turns"]): Generator<string> {
  if (added.length > 0) yield "turns (row missing)";
  for (const { before, after } of replaced) {
    yield* differingColumns(
      "turns",
      { ...before },
      {
        contextTokens: after.contextTokens,
        windowTokens: after.windowTokens,
        windowSource: after.windowSource,
      },
    );
    if (before.window !== after.window) yield "turns.window_index";
    if (before.isRepeat !== after.isRepeat) yield "turns.facets";
    if (before.turn.provenance !== after.turn.provenance) yield "turns.provenance";
  }
}

function* boundaryDifferences(
  { inserts, upserts, deletes }: RowChanges["boundaries"],
  { boundaries }: RecordedHistory,
  { sessionId }: AgentRow,
): Generator<string> {
  for (const { receivedAt: _, ...row } of [...inserts, ...upserts]) {
    yield* rowDifferences("boundaries", boundaries.get(row.id), row);
  }
  if (deletes.length > 0) yield "boundaries (row too many)";
  for (const row of boundaries.values()) yield* differingColumns("boundaries", row, { sessionId });
}

function* crossingDifferences(
  changes: RowChanges["crossings"],
  { crossings }: RecordedHistory,
  { sessionId }: AgentRow,
): Generator<string> {
  // A report in a later segment may change the origin of a crossing in an earlier one.
  const origins = new Map([...changes.origins].map(([id, origin]) => [id, crossingOriginCode(origin)]));
  const found = new Map(changes.upserts.map((row) => [row.id, row]));
  for (const row of found.values()) {
    const origin = origins.get(row.id) ?? row.origin;
    yield* rowDifferences("crossings", crossings.get(row.id), { ...row, origin });
  }
  for (const [id, origin] of origins) {
    const row = crossings.get(id);
    if (!found.has(id)) yield* rowDifferences("crossings", row, { origin });
  }
  if (changes.deletes.length > 0) yield "crossings (row too many)";
  for (const row of crossings.values()) yield* differingColumns("crossings", row, { sessionId });
}

function* windowDifferences(
  { rows: { windows }, after }: AgentChanges,
  { windowRows }: RecordedHistory,
  { state }: AgentRow,
): Generator<string> {
  for (const row of windows.upserts) yield* rowDifferences("windows", windowRows.get(row.index), row);
  // The window an agent is in gets a row when its state is dropped.
  const current = state === undefined ? after.stored?.window : undefined;
  if (current !== undefined) yield* rowDifferences("windows", windowRows.get(current.index), current);
  if (windows.deletes.some((index) => index !== current?.index)) yield "windows (row too many)";
}

function* segmentDifferences(
  { upserts, deletes }: RowChanges["segments"],
  { summaries, states }: RecordedHistory,
): Generator<string> {
  for (const { endsAt, state, summary } of upserts) {
    yield* differingColumns(
      "segments",
      { state: states.get(endsAt), summary: summaries.get(endsAt) },
      {
        state,
        summary,
      },
    );
  }
  if (deletes.length > 0) yield "segments (row too many)";
}

function* agentDifferences(
  { after }: AgentChanges,
  history: RecordedHistory,
  agent: AgentRow,
): Generator<string> {
  const { row, stored } = after;
  // Turns are priced when they are counted, so another price of today is no fault.
  const { estimatedCostMicros: _micros, estimatedCostTurns: _turns, ...tally } = tallyOf(row);
  yield* differingColumns("agents", agent, {
    model: row.model,
    turns: row.turns,
    windows: row.windows,
    ...tally,
    currentTokens: row.currentTokens,
    currentWindow: row.currentWindow,
    windowSource: row.windowSource,
    load: row.load,
    peakTokens: row.peakTokens,
    peakWindow: row.peakWindow,
    peakUtilization: row.peakUtilization,
    peakAt: row.peakAt,
  });
  if (agent.hasState !== (agent.state !== undefined)) yield "agents.has_state";
  if (agent.state !== undefined && stored !== undefined && agent.state !== packStored(stored))
    yield "agents.state";
  // Repeats that add nothing move these times too, so they have bounds and no exact value.
  if (agent.firstAt > history.firstAt) yield "agents.first_at";
  if (agent.lastAt < history.lastAt) yield "agents.last_at";
  if (agent.lastReceivedAt < history.lastReceivedAt) yield "agents.last_received_at";
}

function rowDifferences(table: string, stored: object | undefined, expected: object): string[] {
  if (stored === undefined) return [`${table} (row missing)`];
  return differingColumns(table, stored as ComparedRow, expected as ComparedRow);
}
