import type { DoctorReport } from "@plimsoll/protocol";
import type { Prisma } from "../db/client.ts";
import { judge, readDurability } from "../db/self-check.ts";
import { sqlOfClient } from "../db/sql.ts";
import { recomputeAgent } from "../history/recompute.ts";
import { ALL, GRAINS, SLOT_MS } from "../store/buckets.ts";
import { IS_LEVEL } from "../store/turns.ts";
import type { FreshReader, Reader } from "./reader.ts";

type Check = DoctorReport["checks"][number];

export interface DoctorOptions {
  databaseUrl: string;
}

/** Agents whose whole history is folded again; the most recent ones. */
const AGENTS_REREAD = 200;

/** Milliseconds one check may take. */
const AT_MOST = 600_000;

/** Checks that what is stored agrees with itself, and that the database keeps what it acknowledges. */
export async function examine(reader: FreshReader, options: DoctorOptions): Promise<DoctorReport> {
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
    await none(
      reader,
      "sessions are the sum of their agents",
      "sessions that differ from their agents",
      SESSION_SUMS,
    ),
    await none(reader, "rollups equal the turns", "hours whose rollup differs from their turns", ROLLUPS),
    await none(
      reader,
      "minutes add up to every longer bucket",
      "buckets that differ from the sum of their minutes",
      MINUTES_ADD_UP,
    ),
    await none(
      reader,
      "boundary rollups equal the boundaries",
      "hours whose count differs",
      BOUNDARY_ROLLUPS,
    ),
    await refold(reader),
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

const grouped = new Intl.NumberFormat("en-US").format;

/** Everything that was acknowledged is there. */
async function acknowledged(reader: Reader, outcome: string, what: string, sql: string): Promise<Check> {
  const { projectId } = reader;
  const { expected, found } = await atOneMoment(reader, async (tx) => {
    const counted = await tx.ingestCount.aggregate({ where: { projectId, outcome }, _sum: { count: true } });
    const [row] = await tx.$queryRawUnsafe<{ count: bigint }[]>(sql, projectId);
    return {
      expected: Number(counted._sum.count ?? 0),
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

type Counted = { count: bigint }[];

function verdict(name: string, what: string, [row]: Counted): Check {
  const count = Number(row?.count ?? 0);
  return { name, ok: count === 0, message: count === 0 ? "No difference." : `${count} ${what}.` };
}

const AGENT_TURNS = `
SELECT count(*) AS count FROM agents a
LEFT JOIN (SELECT t.agent, count(*) AS turns, max(context_tokens) FILTER (WHERE ${IS_LEVEL}) AS peak,
             max((context_tokens::float8 / window_tokens)::float4) FILTER (WHERE ${IS_LEVEL}) AS share
           FROM turns t WHERE project_id = $1 GROUP BY t.agent) t ON t.agent = a.number
WHERE a.project_id = $1 AND (a.turns <> COALESCE(t.turns, 0) OR a.peak_tokens IS DISTINCT FROM t.peak
  OR a.peak_utilization IS DISTINCT FROM t.share)`;

/** Those whose agents have moved since they were settled may differ. */
const SESSION_SUMS = `
SELECT count(*) AS count FROM sessions s
LEFT JOIN (SELECT session_id, sum(turns) AS turns, count(*) AS agents, max(peak_tokens) AS peak,
             sum(masked + compacted + subticks + restarts + cleared + unexplained) AS boundaries,
             sum(reclaimed) AS reclaimed, max(peak_utilization) AS share
           FROM agents WHERE project_id = $1 GROUP BY session_id) a ON a.session_id = s.id
WHERE s.project_id = $1 AND (s.turns <> COALESCE(a.turns, 0) OR s.agents <> COALESCE(a.agents, 0)
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
    max(t.context_tokens) FILTER (WHERE ${IS_LEVEL}) AS peak,
    count(*) FILTER (WHERE ${IS_LEVEL} AND t.context_tokens IS NOT NULL AND t.window_tokens IS NOT NULL) AS binned
  FROM counted t JOIN agents a ON a.project_id = t.project_id AND a.number = t.agent
  JOIN sessions s ON s.project_id = a.project_id AND s.id = a.session_id
  JOIN models m ON m.project_id = t.project_id AND m.id = t.model_id
  GROUP BY GROUPING SETS ((1, 2, 3), (1))
), raw AS (
  SELECT bucket, COALESCE(harness, '${ALL}') AS harness, COALESCE(model, '${ALL}') AS model, turns, missing, fresh,
    cache_read, cache_write, output, cost, peak, binned
  FROM summed
), kept AS (
  SELECT bucket, harness, model, sum(turns) AS turns, sum(missing) AS missing, sum(fresh) AS fresh,
    sum(cache_read) AS cache_read, sum(cache_write) AS cache_write, sum(output) AS output, sum(cost_micros) AS cost,
    max(peak_tokens) AS peak, sum((SELECT COALESCE(sum(n), 0) FROM unnest(bins) n)) AS binned,
    bool_or(stale) AS repeak
  FROM rollups WHERE project_id = $1 AND grain = 60 GROUP BY 1, 2, 3 HAVING sum(turns) <> 0
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
), kept AS (
  SELECT bucket, harness, type, sum(count) AS count, sum(reclaimed) AS reclaimed FROM boundary_rollups
  WHERE project_id = $1 AND grain = 60
  GROUP BY 1, 2, 3 HAVING sum(count) <> 0
)
SELECT count(*) AS count FROM raw FULL JOIN kept USING (bucket, harness, type)
WHERE raw.count IS DISTINCT FROM kept.count OR raw.reclaimed IS DISTINCT FROM kept.reclaimed`;

/** Folds the most recent agents again from everything they sent, and compares every derived column. */
async function refold(reader: Reader): Promise<Check> {
  const name = "agents equal a fold of their events";
  const agents = await reader.prisma.agent.findMany({
    where: { projectId: reader.projectId, turns: { gt: 0 } },
    orderBy: { lastReceivedAt: "desc" },
    take: AGENTS_REREAD,
    select: { id: true },
  });
  const wrong: string[] = [];
  for (const { id } of agents) {
    const differences = await atOneMoment(reader, (tx) =>
      recomputeAgent(sqlOfClient(tx), reader.projectId, id, reader.thresholds),
    );
    if (differences.length > 0) wrong.push(`${id} (${differences.join(", ")})`);
  }
  return {
    name,
    ok: wrong.length === 0,
    message:
      wrong.length === 0
        ? `${grouped(agents.length)} agents folded again, no difference.`
        : `${wrong.length} of ${agents.length} agents differ: ${wrong.slice(0, 5).join(", ")}.`,
  };
}
