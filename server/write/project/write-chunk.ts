import type { Steps } from "@plimsoll/fold";
import type { WriterSql } from "../../db/sql.ts";
import { agentContents, KEEP_LATEST } from "../../db/tables/agent-contents.ts";
import { type AgentRow, agents } from "../../db/tables/agents.ts";
import { boundaries } from "../../db/tables/boundaries.ts";
import { crossingOriginCode } from "../../db/tables/codes.ts";
import { crossings } from "../../db/tables/crossings.ts";
import { harnesses, WIDEN_HARNESS } from "../../db/tables/harnesses.ts";
import { eventKey } from "../../db/tables/identity.ts";
import { ADD_COUNT, ingestCounts } from "../../db/tables/ingest-counts.ts";
import { machines, WIDEN_MACHINE } from "../../db/tables/machines.ts";
import { models } from "../../db/tables/models.ts";
import { observedWindows } from "../../db/tables/observed-windows.ts";
import { unpackMinutes } from "../../db/tables/packed-minutes.ts";
import {
  MERGE_QUOTA_PERCENT,
  QUOTA_KEY,
  quotaPercents,
  REMOVE_OLD_QUOTA_WINDOWS,
} from "../../db/tables/quota-percents.ts";
import { rollupNames } from "../../db/tables/rollup-names.ts";
import {
  ADD_BOUNDARY_ROLLUP,
  ADD_INSIGHT_ROLLUP,
  ADD_ROLLUP,
  boundaryRollups,
  insightRollups,
  rollups,
} from "../../db/tables/rollups.ts";
import { segments } from "../../db/tables/segments.ts";
import { sessions } from "../../db/tables/sessions.ts";
import type { Statement } from "../../db/tables/table.ts";
import { joinBlocks, packBlock, type TurnBlockRow, turnBlocks } from "../../db/tables/turn-blocks.ts";
import { windows } from "../../db/tables/windows.ts";
import { DAY_MS } from "../../times.ts";
import type { ProjectMemory } from "../memory/memory.ts";
import { type RowChanges, rowWithState } from "../plan/agent-changes.ts";
import { DESCRIBE_HARNESSES, DESCRIBE_SESSIONS, SUM_SESSIONS } from "./describe.ts";
import { moveStatements } from "./move-agents.ts";
import type { ChunkPlan } from "./plan-chunk.ts";
import { deferRefolds, refoldUsers, rejudge } from "./rejudge.ts";

/** Thrown if a row is not the one the projector remembers: somebody restored or deleted data. */
export class MemoryOutdated extends Error {
  constructor(table: string) {
    super(`rows of ${table} are not those that the projector wrote last`);
  }
}

const SAME_VERSION = "AND t.version = i.version - 1";

/** A statement of a chunk, in the order of writing. */
export interface ChunkStatement extends Statement {
  /** Rows of this table that it must touch. */
  expected?: { table: string; rows: number };
}

/**
 * Encodes what a planned chunk writes, in steps. Separate from sending, so that it happens while the chunk before is written.
 */
export function* encodeChunk(memory: ProjectMemory, plan: ChunkPlan): Steps<ChunkStatement[]> {
  const { projectId } = memory;
  const statements: ChunkStatement[] = [];
  const send = (statement: ChunkStatement) => void statements.push(statement);
  const all = <Row>(pick: (rows: RowChanges) => readonly Row[]): Row[] =>
    plan.agents.flatMap(({ rows }) => pick(rows));
  const some = <Row>(rows: readonly Row[], statement: (rows: readonly Row[]) => Statement) => {
    if (rows.length > 0) send(statement(rows));
  };

  // Before the agents are written: this chunk already uses the new thresholds.
  for (const [harness, from] of plan.rejudged) send(rejudge(projectId, from, harness));
  for (const [family, models] of plan.resized) send(refoldUsers(memory, { family, models, now: undefined }));
  some(memory.observed.takeChanges(), (rows) => observedWindows.upsert(projectId, rows));
  some(plan.refolds, (rows) => deferRefolds(projectId, rows));
  some(modelRows(memory, plan), (rows) => models.insertIfAbsent(projectId, rows));
  for (const statement of [...agentStatements(projectId, plan), ...sessionStatements(projectId, plan)])
    send(statement);
  some(
    all(({ blocks }) => blocks.deletes),
    (rows) => turnBlocks.delete(projectId, rows),
  );
  const blocks: TurnBlockRow[] = [];
  for (const block of all(({ blocks }) => blocks.inserts)) {
    blocks.push(packBlock(block));
    if (blocks.length % BLOCKS_IN_STEP === 0) yield;
  }
  some(blocks, (rows) => turnBlocks.insert(projectId, rows));
  some(
    all(({ blocks }) => blocks.joins),
    (rows) => joinBlocks(projectId, rows),
  );
  some(
    keyed(plan, ({ boundaries }) => boundaries.deletes),
    (rows) => boundaries.delete(projectId, rows),
  );
  const inserts = all(({ boundaries }) => boundaries.inserts);
  for (const rows of inParts(inserts)) {
    send(boundaries.insert(projectId, rows));
    yield;
  }
  const upserts = [...plan.harnessMarks, ...all(({ boundaries }) => boundaries.upserts)];
  for (const rows of inParts(upserts)) {
    send(boundaries.upsert(projectId, rows));
    yield;
  }
  some(settledRows(plan), (rows) => boundaries.update(projectId, rows, SETTLED_FIELDS));
  some(
    keyed(plan, ({ crossings }) => crossings.deletes),
    (rows) => crossings.delete(projectId, rows),
  );
  some(
    all(({ crossings }) => crossings.upserts),
    (rows) => crossings.upsert(projectId, rows),
  );
  some(originRows(plan), (rows) => crossings.update(projectId, rows, ["origin"]));
  some(windowKeys(plan), (rows) => windows.delete(projectId, rows));
  some(
    all(({ windows }) => windows.upserts),
    (rows) => windows.upsert(projectId, rows),
  );
  some(segmentKeys(plan), (rows) => segments.delete(projectId, rows));
  some(
    all(({ segments }) => segments.upserts),
    (rows) => segments.upsert(projectId, rows),
  );
  some(plan.rollupNames, (rows) => rollupNames.insertIfAbsent(projectId, rows));
  const buckets = plan.rollups.everyGrain();
  for (const statement of unpackMinutes(projectId, buckets.turns, memory.packedTo)) send(statement);
  some(buckets.turns, (rows) => rollups.upsert(projectId, rows, ADD_ROLLUP));
  some(buckets.boundaries, (rows) => boundaryRollups.upsert(projectId, rows, ADD_BOUNDARY_ROLLUP));
  some(buckets.insights, (rows) => insightRollups.upsert(projectId, rows, ADD_INSIGHT_ROLLUP));
  some(plan.harnesses, (rows) =>
    harnesses.upsert(
      projectId,
      rows.map(({ receivedAt, ...row }) => ({ ...row, lastReceivedAt: receivedAt, addedAt: receivedAt })),
      WIDEN_HARNESS,
    ),
  );
  some(plan.contents, (rows) => agentContents.upsert(projectId, rows, KEEP_LATEST));
  some(plan.machines, (rows) => machines.upsert(projectId, rows, WIDEN_MACHINE));
  some(plan.quotas, (rows) => quotaPercents.upsert(projectId, rows, MERGE_QUOTA_PERCENT));
  some(plan.quotas, (rows) => ({
    text: REMOVE_OLD_QUOTA_WINDOWS,
    values: [projectId, ...QUOTA_KEY.map((part) => rows.map((row) => row[part]))],
  }));
  yield;
  for (const statement of moveStatements(projectId, plan.moves)) send(statement);
  const summed = plan.sessions.filter(({ sum }) => sum !== undefined).map(({ after }) => after.row.id);
  if (summed.length > 0) send({ text: SUM_SESSIONS, values: [projectId, summed] });
  if (plan.describedSessions.length > 0) {
    send({ text: DESCRIBE_SESSIONS, values: [projectId, plan.describedSessions] });
  }
  if (plan.describedHarnesses.length > 0) {
    send({ text: DESCRIBE_HARNESSES, values: [projectId, plan.describedHarnesses] });
  }
  return statements;
}

/** Blocks packed in one step. A small agent's block has few turns. */
const BLOCKS_IN_STEP = 32;
/** Marks in one statement: with their details they may take kilobytes each. */
const MARKS_AT_ONCE = 4_096;

function* inParts<Row>(rows: readonly Row[]): Generator<readonly Row[]> {
  for (let from = 0; from < rows.length; from += MARKS_AT_ONCE) yield rows.slice(from, from + MARKS_AT_ONCE);
}

/**
 * Sends the statements of a chunk.
 * @throws MemoryOutdated
 */
export async function sendChunk(sql: WriterSql, statements: readonly ChunkStatement[]): Promise<void> {
  const checked: Promise<void>[] = [];
  sql.send(JOIN_BY_KEY);
  for (const { text, values, expected } of statements) {
    if (expected === undefined) sql.send(text, ...values);
    else checked.push(sendChecked(sql, { text, values }, expected));
  }
  await Promise.all(checked);
}

/** Without statistics, as in a young database, the planner would read whole tables to update a few rows. */
const JOIN_BY_KEY =
  "SELECT set_config('enable_hashjoin', 'off', true), set_config('enable_mergejoin', 'off', true)";

async function sendChecked(
  sql: WriterSql,
  { text, values }: Statement,
  { table, rows }: { table: string; rows: number },
): Promise<void> {
  if ((await sql.execute(text, ...values)) !== rows) throw new MemoryOutdated(table);
}

/** Adds outcomes to the counts of a day. `receivedAt` in epoch ms. */
export function writeCounts(
  sql: WriterSql,
  projectId: number,
  counts: ReadonlyMap<string, number>,
  receivedAt: number,
): void {
  if (counts.size === 0) return;
  const day = Math.floor(receivedAt / DAY_MS) * DAY_MS;
  const rows = [...counts].map(([outcome, count]) => ({ day, outcome, count }));
  const { text, values } = ingestCounts.upsert(projectId, rows, ADD_COUNT);
  sql.send(text, ...values);
}

/** Puts what a committed chunk wrote into the memory. */
export function remember(memory: ProjectMemory, plan: ChunkPlan): void {
  for (const { after, rows } of plan.agents) {
    const added = rows.turns.added.map(({ turn }) => turn.key);
    // A sender may use the id of an inferred fall: also that is looked up then.
    for (const { id } of rows.boundaries.inserts) added.push(eventKey(id));
    memory.agents.set(after.row.id, { ...after, keys: after.keys.add(added) });
  }
  const described = new Set(plan.describedSessions);
  for (const { after, sum } of plan.sessions) {
    const { id } = after.row;
    // The database derived parts of these rows: the next chunk reads them.
    if (sum !== undefined || described.has(id)) memory.sessions.delete(id);
    else memory.sessions.set(id, after);
  }
  for (const id of described) memory.sessions.delete(id);
  for (const { from } of plan.moves) memory.sessions.delete(from);
}

const SETTLED_FIELDS = ["windowIndex", "tokensBefore", "tokensAfter", "fall"] as const;

function agentStatements(projectId: number, plan: ChunkPlan): ChunkStatement[] {
  const created: AgentRow[] = [];
  const changed: AgentRow[] = [];
  for (const { before, after } of plan.agents)
    (before === undefined ? created : changed).push(rowWithState(after));
  const statements: ChunkStatement[] = [];
  if (created.length > 0) statements.push(agents.insert(projectId, created));
  if (changed.length > 0) {
    const update = agents.update(projectId, changed, fieldsOf(changed), SAME_VERSION);
    statements.push({ ...update, expected: { table: "agents", rows: changed.length } });
  }
  return statements;
}

function sessionStatements(projectId: number, { sessions: plans }: ChunkPlan): ChunkStatement[] {
  const created = plans.filter(({ before }) => before === undefined).map(({ after }) => after.row);
  const changed = plans.filter(({ before }) => before !== undefined).map(({ after }) => after.row);
  const statements: ChunkStatement[] = [];
  if (created.length > 0) statements.push(sessions.insert(projectId, created));
  if (changed.length > 0) {
    const update = sessions.update(projectId, changed, fieldsOf(changed), SAME_VERSION);
    statements.push({ ...update, expected: { table: "sessions", rows: changed.length } });
  }
  return statements;
}

function fieldsOf<Row extends object>([row]: readonly Row[]): (keyof Row & string)[] {
  return Object.keys(row ?? {}).filter((field) => field !== "id") as (keyof Row & string)[];
}

function modelRows(memory: ProjectMemory, { models: names }: ChunkPlan) {
  return [...names].map(([name, addedAt]) => ({ id: memory.modelId(name), name, addedAt }));
}

function keyed(plan: ChunkPlan, pick: (rows: RowChanges) => readonly string[]) {
  return plan.agents.flatMap(({ rows, after }) => pick(rows).map((id) => ({ agentId: after.row.id, id })));
}

function settledRows(plan: ChunkPlan) {
  return plan.agents.flatMap(({ rows, after }) =>
    rows.boundaries.settled.map(({ id, window, tokensBefore, tokensAfter, fall }) => ({
      agentId: after.row.id,
      id,
      windowIndex: window,
      tokensBefore,
      tokensAfter,
      fall,
    })),
  );
}

function originRows(plan: ChunkPlan) {
  return plan.agents.flatMap(({ rows, after }) =>
    [...rows.crossings.origins].map(([id, origin]) => ({
      agentId: after.row.id,
      id,
      origin: crossingOriginCode(origin),
    })),
  );
}

function windowKeys(plan: ChunkPlan) {
  return plan.agents.flatMap(({ rows, after }) =>
    rows.windows.deletes.map((index) => ({ agentId: after.row.id, index })),
  );
}

function segmentKeys(plan: ChunkPlan) {
  return plan.agents.flatMap(({ rows, after }) =>
    rows.segments.deletes.map((endsAt) => ({ agent: after.row.number, endsAt })),
  );
}
