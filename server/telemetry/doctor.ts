import type { DoctorReport, FoldOptions } from "@plimsoll/protocol";
import { foldAgent } from "@plimsoll/protocol";
import type { Prisma } from "../db/client.ts";
import { judge, readDurability } from "../db/self-check.ts";
import { sqlOfClient } from "../db/sql.ts";
import { readAgentMarks } from "../ingest/marks.ts";
import type { ModelNumbers } from "../ingest/models.ts";
import { unpackState } from "../ingest/packed-state.ts";
import { type Delta, PendingSum } from "../ingest/pending.ts";
import { ALL, GRAINS, inEveryGrain } from "../ingest/rollup.ts";
import { SLOT_MS } from "../ingest/slots.ts";
import { readAgentTurns } from "../ingest/turns.ts";
import type { Reader, SettledReader } from "./reader.ts";

type Check = DoctorReport["checks"][number];

export interface DoctorOptions {
  databaseUrl: string;
  models: ModelNumbers;
  fold: FoldOptions;
}

/** Agents whose whole history is folded again; the most recent ones. */
const AGENTS_REREAD = 200;

/** Milliseconds one check may take. */
const AT_MOST = 600_000;

/** Checks that what is stored agrees with itself, and that the database keeps what it acknowledges. */
export async function examine(reader: SettledReader, options: DoctorOptions): Promise<DoctorReport> {
  const checks = [
    await durability(options.databaseUrl),
    await acknowledged(reader, "turn", "turns", "SELECT count(*) AS count FROM turns WHERE project_id = $1"),
    await acknowledged(
      reader,
      "mark",
      "boundaries and signs",
      "SELECT count(*) AS count FROM boundaries WHERE project_id = $1 AND origin = 0",
    ),
    await none(
      reader,
      "agents count their turns",
      "agents whose count differs from their stored turns",
      AGENT_TURNS,
    ),
    await withPending(
      reader,
      "sessions are the sum of their agents",
      "sessions that differ from their agents",
      {
        sql: SESSION_SUMS,
        pending: ({ sessions }) => [...sessions.values()].map(({ id }) => id),
      },
    ),
    await withPending(reader, "rollups equal the turns", "hours whose rollup differs from their turns", {
      sql: ROLLUPS,
      pending: ({ rollups }) => inEveryGrain(rollups).turns.filter(({ grain }) => grain === 60),
    }),
    await none(
      reader,
      "minutes add up to every longer bucket",
      "buckets that differ from the sum of their minutes",
      MINUTES_ADD_UP,
    ),
    await withPending(reader, "boundary rollups equal the boundaries", "hours whose count differs", {
      sql: BOUNDARY_ROLLUPS,
      pending: ({ rollups }) => inEveryGrain(rollups).boundaries.filter(({ grain }) => grain === 60),
    }),
    await refold(reader, options),
  ];
  return { ok: checks.every((check) => check.ok), checks };
}

async function durability(url: string): Promise<Check> {
  const name = "the database keeps what it acknowledges";
  const found = await readDurability(url);
  const { wrong, fatal } = judge(found);
  const problems = fatal === undefined ? wrong : [fatal];
  const facts = `fsync ${found.fsync}, synchronous_commit ${found.synchronousCommit}, full_page_writes ${found.fullPageWrites}`;
  return {
    name,
    ok: problems.length === 0,
    message: problems.length === 0 ? `${facts}.` : `${problems.join("; ")}.`,
  };
}

/**
 * Runs with all it reads of one moment, so that what is in use is compared with itself. It may take as long as it
 * needs: there may be millions of rows.
 */
function atOneMoment<T>(reader: Reader, run: (tx: Prisma.TransactionClient) => Promise<T>): Promise<T> {
  return reader.prisma.$transaction(run, { isolationLevel: "RepeatableRead", timeout: AT_MOST });
}

/** What the totals lack at the moment of the transaction: events come in while the doctor looks. */
async function readPending(tx: Prisma.TransactionClient, projectId: number): Promise<PendingSum> {
  const rows = await tx.pendingTotals.findMany({ where: { projectId } });
  return new PendingSum(
    rows.map(({ delta }) => ({ project_id: projectId, delta: delta as unknown as Delta })),
  );
}

type WindowLevels = Record<"firstTokens" | "lastTokens" | "peakTokens", number | null | undefined> & {
  index: number;
  turns: number;
};

/** Windows in order, as one text to compare. */
function levelsOf(windows: Iterable<WindowLevels>): string {
  const levels = [...windows].map((window) => [
    window.index,
    window.turns,
    window.firstTokens,
    window.lastTokens,
    window.peakTokens,
  ]);
  return JSON.stringify(levels);
}

const grouped = new Intl.NumberFormat("en-US").format;

/** Everything that was acknowledged is there. */
async function acknowledged(reader: Reader, outcome: string, what: string, sql: string): Promise<Check> {
  const { projectId } = reader;
  const { expected, found } = await atOneMoment(reader, async (tx) => {
    const { counts } = await readPending(tx, projectId);
    const counted = await tx.ingestCount.aggregate({ where: { projectId, outcome }, _sum: { count: true } });
    const [row] = await tx.$queryRawUnsafe<{ count: bigint }[]>(sql, projectId);
    const pending = [...counts.values()].filter((one) => one.outcome === outcome);
    return {
      expected: pending.reduce((sum, { count }) => sum + count, Number(counted._sum.count ?? 0)),
      found: Number(row?.count ?? 0),
    };
  });
  return {
    name: `acknowledged ${what} are stored`,
    ok: expected === found,
    message: `${grouped(expected)} acknowledged, ${grouped(found)} stored.`,
  };
}

/** A query that counts what breaks a rule. */
async function none(reader: Reader, name: string, what: string, sql: string): Promise<Check> {
  return verdict(name, what, await reader.prisma.$queryRawUnsafe<Counted>(sql, reader.projectId));
}

/** The same of sessions and totals: its second parameter is what is pending for them. */
async function withPending(
  reader: Reader,
  name: string,
  what: string,
  check: { sql: string; pending: (sum: PendingSum) => unknown[] },
): Promise<Check> {
  const found = await atOneMoment(reader, async (tx) => {
    const pending = JSON.stringify(check.pending(await readPending(tx, reader.projectId)));
    return tx.$queryRawUnsafe<Counted>(check.sql, reader.projectId, pending);
  });
  return verdict(name, what, found);
}

type Counted = { count: bigint }[];

function verdict(name: string, what: string, [row]: Counted): Check {
  const count = Number(row?.count ?? 0);
  return { name, ok: count === 0, message: count === 0 ? "No difference." : `${count} ${what}.` };
}

const AGENT_TURNS = `
SELECT count(*) AS count FROM agents a
LEFT JOIN (SELECT agent_id, count(*) AS turns, max(context_tokens) FILTER (WHERE purpose = 0) AS peak,
             max((context_tokens::float8 / window_tokens)::float4) FILTER (WHERE purpose = 0) AS share
           FROM turns WHERE project_id = $1 GROUP BY agent_id) t ON t.agent_id = a.id
WHERE a.project_id = $1 AND (a.turns <> COALESCE(t.turns, 0) OR a.peak_tokens IS DISTINCT FROM t.peak
  OR a.peak_utilization IS DISTINCT FROM t.share)`;

/** Those whose agents have moved since they were settled may differ. */
const SESSION_SUMS = `
SELECT count(*) AS count FROM sessions s
LEFT JOIN (SELECT session_id, sum(turns) AS turns, count(*) AS agents, max(peak_tokens) AS peak,
             sum(masked + compacted + subticks + restarts + cleared + unexplained) AS boundaries,
             sum(reclaimed) AS reclaimed, max(peak_utilization) AS share
           FROM agents WHERE project_id = $1 GROUP BY session_id) a ON a.session_id = s.id
WHERE s.project_id = $1 AND s.id NOT IN (SELECT json_array_elements_text($2::json)::uuid)
  AND (s.turns <> COALESCE(a.turns, 0) OR s.agents <> COALESCE(a.agents, 0)
  OR s.peak_tokens IS DISTINCT FROM a.peak OR s.peak_utilization IS DISTINCT FROM a.share OR s.reclaimed <> COALESCE(a.reclaimed, 0)
  OR s.masked + s.compacted + s.subticks + s.restarts + s.cleared + s.unexplained <> COALESCE(a.boundaries, 0)
  OR s.warned <> (s.warnings > 0)
  OR s.first_slot <> floor(extract(epoch FROM s.first_at) * 1000 / ${SLOT_MS})
  OR s.last_slot <> floor(extract(epoch FROM s.last_at) * 1000 / ${SLOT_MS})
  OR s.open_slot <> CASE WHEN s.ended_at >= s.last_at THEN -1
    ELSE floor(extract(epoch FROM s.last_received_at) * 1000 / ${SLOT_MS}) END)`;

/** A peak that is pending to be read again from the turns may be too high until then. */
const ROLLUPS = `
WITH counted AS (
  SELECT t.*, COALESCE(t.cache_read, 0) + COALESCE(t.cache_write, 0) AS cached FROM turns t WHERE t.project_id = $1
), summed AS (
  SELECT date_trunc('hour', t.at, 'UTC') AS bucket, s.harness, m.name AS model, count(*) AS turns,
    count(*) FILTER (WHERE t.context_tokens IS NULL) AS missing,
    COALESCE(sum(CASE WHEN t.facets & 3 = 2 OR (t.facets & 3 = 0 AND t.cached > t.input_tokens) THEN t.input_tokens
      ELSE GREATEST(0, t.input_tokens - t.cached) END) FILTER (WHERE t.input_tokens IS NOT NULL), 0) AS fresh,
    COALESCE(sum(t.cache_read), 0) AS cache_read, COALESCE(sum(t.cache_write), 0) AS cache_write,
    COALESCE(sum(t.output_tokens), 0) AS output, COALESCE(sum(t.cost_micros), 0) AS cost,
    max(t.context_tokens) FILTER (WHERE t.purpose = 0) AS peak,
    count(*) FILTER (WHERE t.purpose = 0 AND t.context_tokens IS NOT NULL AND t.window_tokens IS NOT NULL) AS binned
  FROM counted t JOIN agents a ON a.project_id = t.project_id AND a.id = t.agent_id
  JOIN sessions s ON s.project_id = a.project_id AND s.id = a.session_id
  JOIN models m ON m.project_id = t.project_id AND m.id = t.model_id
  GROUP BY GROUPING SETS ((1, 2, 3), (1))
), raw AS (
  SELECT bucket, COALESCE(harness, '${ALL}') AS harness, COALESCE(model, '${ALL}') AS model, turns, missing, fresh,
    cache_read, cache_write, output, cost, peak, binned
  FROM summed
), settled AS (
  SELECT bucket, harness, model, turns, missing, fresh, cache_read, cache_write, output, cost_micros, peak_tokens, bins,
    false AS repeak
  FROM rollups WHERE project_id = $1 AND grain = 60
  UNION ALL
  SELECT to_timestamp(bucket / 1000), harness, model, turns, missing, fresh, "cacheRead", "cacheWrite", output,
    "costMicros", "peakTokens", bins, repeak
  FROM json_to_recordset($2::json) AS p(bucket float8, harness text, model text, turns int4, missing int4, fresh int8,
    "cacheRead" int8, "cacheWrite" int8, output int8, "costMicros" int8, "peakTokens" int4, bins int4[], repeak bool)
), kept AS (
  SELECT bucket, harness, model, sum(turns) AS turns, sum(missing) AS missing, sum(fresh) AS fresh,
    sum(cache_read) AS cache_read, sum(cache_write) AS cache_write, sum(output) AS output, sum(cost_micros) AS cost,
    max(peak_tokens) AS peak, sum((SELECT COALESCE(sum(n), 0) FROM unnest(bins) n)) AS binned,
    bool_or(repeak) AS repeak
  FROM settled GROUP BY 1, 2, 3 HAVING sum(turns) <> 0
)
SELECT count(*) AS count FROM raw FULL JOIN kept USING (bucket, harness, model)
WHERE (raw.turns, raw.missing, raw.fresh, raw.cache_read, raw.cache_write, raw.output, raw.cost, raw.binned)
  IS DISTINCT FROM
  (kept.turns, kept.missing, kept.fresh, kept.cache_read, kept.cache_write, kept.output, kept.cost, kept.binned)
  OR (raw.peak IS DISTINCT FROM kept.peak AND NOT COALESCE(kept.repeak, false))`;

const LONGER = `grains AS (SELECT unnest('{${GRAINS.slice(1).join()}}'::int2[]) AS grain)`;

const MINUTES_ADD_UP = `
WITH ${LONGER}, longer AS (
  SELECT grain, bucket, harness, model, turns, missing, fresh, output, peak_tokens,
    (SELECT COALESCE(sum(n), 0) FROM unnest(bins) n) AS binned
  FROM rollups WHERE project_id = $1 AND grain > 1
), minutes AS (
  SELECT g.grain, date_bin(g.grain * interval '1 minute', bucket, 'epoch') AS bucket, harness, model,
    sum(turns) AS turns, sum(missing) AS missing, sum(fresh) AS fresh, sum(output) AS output,
    max(peak_tokens) AS peak_tokens, sum((SELECT COALESCE(sum(n), 0) FROM unnest(bins) n)) AS binned
  FROM rollups CROSS JOIN grains g WHERE project_id = $1 AND rollups.grain = 1 GROUP BY 1, 2, 3, 4
), longer_falls AS (
  SELECT grain, bucket, harness, type, count, reclaimed FROM boundary_rollups WHERE project_id = $1 AND grain > 1
), minute_falls AS (
  SELECT g.grain, date_bin(g.grain * interval '1 minute', bucket, 'epoch') AS bucket, harness, type,
    sum(count) AS count, sum(reclaimed) AS reclaimed
  FROM boundary_rollups r CROSS JOIN grains g WHERE project_id = $1 AND r.grain = 1 GROUP BY 1, 2, 3, 4
)
SELECT (
  SELECT count(*) FROM longer FULL JOIN minutes USING (grain, bucket, harness, model)
  WHERE (longer.turns, longer.missing, longer.fresh, longer.output, longer.peak_tokens, longer.binned)
    IS DISTINCT FROM
    (minutes.turns, minutes.missing, minutes.fresh, minutes.output, minutes.peak_tokens, minutes.binned)
) + (
  SELECT count(*) FROM longer_falls FULL JOIN minute_falls USING (grain, bucket, harness, type)
  WHERE (longer_falls.count, longer_falls.reclaimed) IS DISTINCT FROM (minute_falls.count, minute_falls.reclaimed)
) AS count`;

const BOUNDARY_ROLLUPS = `
WITH summed AS (
  SELECT date_trunc('hour', b.at, 'UTC') AS bucket, s.harness, b.type, count(*) AS count,
    sum(GREATEST(0, COALESCE(b.tokens_before - b.tokens_after, 0))) AS reclaimed
  FROM boundaries b JOIN sessions s ON s.project_id = b.project_id AND s.id = b.session_id
  WHERE b.project_id = $1 AND b.type IN ('masked', 'compacted', 'subtick', 'restarted', 'cleared', 'unexplained')
  GROUP BY GROUPING SETS ((1, 2, 3), (1, 3))
), raw AS (
  SELECT bucket, COALESCE(harness, '${ALL}') AS harness, type, count, reclaimed FROM summed
), settled AS (
  SELECT bucket, harness, type, count, reclaimed FROM boundary_rollups WHERE project_id = $1 AND grain = 60
  UNION ALL
  SELECT to_timestamp(bucket / 1000), harness, type, count, reclaimed
  FROM json_to_recordset($2::json) AS p(bucket float8, harness text, type text, count int4, reclaimed int8)
), kept AS (
  SELECT bucket, harness, type, sum(count) AS count, sum(reclaimed) AS reclaimed FROM settled
  GROUP BY 1, 2, 3 HAVING sum(count) <> 0
)
SELECT count(*) AS count FROM raw FULL JOIN kept USING (bucket, harness, type)
WHERE raw.count IS DISTINCT FROM kept.count OR raw.reclaimed IS DISTINCT FROM kept.reclaimed`;

/** What the most recent agents come to, computed anew from all that they sent. */
async function refold(reader: Reader, { models, fold }: DoctorOptions): Promise<Check> {
  const name = "current, peak and windows equal a recomputation";
  const agents = await reader.prisma.agent.findMany({
    where: { projectId: reader.projectId, turns: { gt: 0 } },
    orderBy: { lastReceivedAt: "desc" },
    take: AGENTS_REREAD,
    select: { id: true },
  });
  const wrong: string[] = [];
  for (const { id } of agents) {
    const { agent, turns, marks, over } = await atOneMoment(reader, async (tx) => {
      const agent = await tx.agent.findUniqueOrThrow({
        where: { projectId_id: { projectId: reader.projectId, id } },
      });
      return {
        agent,
        turns: await readAgentTurns(sqlOfClient(tx), agent, models),
        marks: await readAgentMarks(sqlOfClient(tx), agent),
        over: await tx.window.findMany({
          where: { projectId: reader.projectId, agentId: id },
          orderBy: { index: "asc" },
        }),
      };
    });
    const facts = marks.filter((mark) => mark.origin === 0).map((mark) => mark.facts);
    const { state, windows } = foldAgent(
      turns.map((row) => row.facts),
      facts,
      fold,
    );
    const stored = unpackState(agent.state);
    const open = stored.window === undefined ? [] : [stored.window];
    const same =
      state.current === stored.current &&
      state.current === (agent.currentTokens ?? undefined) &&
      state.peak?.tokens === stored.peak?.tokens &&
      state.windows === stored.windows &&
      state.turns === stored.turns &&
      levelsOf(windows.values()) === levelsOf([...over, ...open]);
    if (!same) wrong.push(agent.id);
  }
  return {
    name,
    ok: wrong.length === 0,
    message:
      wrong.length === 0
        ? `${grouped(agents.length)} agents read again, no difference.`
        : `${wrong.length} of ${agents.length} agents differ: ${wrong.slice(0, 5).join(", ")}.`,
  };
}
