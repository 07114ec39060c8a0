import type { Breakdown, BreakdownQuery } from "@plimsoll/protocol/api";
import { Prisma } from "../db/client.ts";
import { ALL, slotOf } from "../db/tables/buckets.ts";
import { OTHER } from "../db/tables/rollup-names.ts";
import type { FreshReader, Reader } from "../lines/reader.ts";
import { iso, type Span, spanOf } from "../times.ts";
import { piecesOf, rollupsIn } from "./buckets.ts";

const MOST_ROWS = 8;
/** Sessions, the latest ones, that tell how much of a sum is known. */
const SESSIONS = 2_000;

interface ValueRow {
  harness: string;
  model: string | null;
  value: number;
  estimated: number;
  total: number;
  totalEstimated: number;
}

interface Known {
  turns: number;
  priced: number;
  prompt: number;
  estimated: number;
}

/** Restarts, cost or uncached tokens of a range by harness and model. */
export async function readBreakdown(reader: FreshReader, query: BreakdownQuery): Promise<Breakdown> {
  const span = spanOf(query);
  const [rows, known] = await Promise.all([
    query.by === "restarts" ? readRestarts(reader, span, query.harness) : readSums(reader, span, query),
    query.by === "restarts" ? undefined : readKnown(reader, span, query.harness),
  ]);
  const total = rows[0]?.total ?? 0;
  const listed = rows.filter(({ harness }) => harness !== OTHER).slice(0, MOST_ROWS);
  return {
    range: { from: iso(span.from), to: iso(span.to) },
    by: query.by,
    rows: listed.map(({ harness, model, value, estimated }) => ({ harness, model, value, estimated })),
    // Not below zero for a sum of fractions.
    others: Math.max(0, total - listed.reduce((sum, { value }) => sum + value, 0)),
    total,
    estimated: rows[0]?.totalEstimated ?? 0,
    known_share: known === undefined ? null : knownShare(known, query.by),
  };
}

const knownShare = ({ turns, priced, prompt, estimated }: Known, by: BreakdownQuery["by"]): number | null => {
  if (by === "cost_usd") return turns === 0 ? null : priced / turns;
  return prompt === 0 ? null : 1 - estimated / prompt;
};

const ofHarness = (harness: string | undefined) =>
  harness === undefined ? Prisma.empty : Prisma.sql`AND s.harness = ${harness}`;

/** One row more than is listed, because one may be that of the names over the limit of a day. */
const highest = ({ prisma }: Reader, found: Prisma.Sql) => prisma.$queryRaw<ValueRow[]>`
  SELECT harness, model, value, estimated, (sum(value) OVER ())::float8 AS total,
    (sum(estimated) OVER ())::float8 AS "totalEstimated" FROM (${found}) f
  WHERE value > 0 ORDER BY value DESC, harness COLLATE "C", model COLLATE "C" LIMIT ${MOST_ROWS + 1}`;

/** By the latest model of the agent. Only sessions with restarts are looked into. */
const readRestarts = (reader: Reader, { from, to }: Span, harness: string | undefined) =>
  highest(
    reader,
    Prisma.sql`
      SELECT s.harness, a.model, sum(n.count)::float8 AS value, 0::float8 AS estimated
      FROM sessions s
      JOIN agents a ON a.project_id = ${reader.projectId} AND a.session_id = s.id AND a.restarts > 0
      CROSS JOIN LATERAL (
        SELECT count(*) AS count FROM boundaries b
        WHERE b.project_id = ${reader.projectId} AND b.agent_id = a.id AND b.type = 'restarted'
          AND b.at >= ${new Date(from)} AND b.at < ${new Date(to)}
      ) n
      WHERE s.project_id = ${reader.projectId} AND s.last_slot >= ${slotOf(from)} AND s.last_at >= ${new Date(from)}
        AND s.first_at < ${new Date(to)} AND s.restarts > 0 ${ofHarness(harness)}
      GROUP BY s.harness, a.model`,
  );

/** By the model of the turn, exact to the minute. */
function readSums(reader: Reader, span: Span, { by, harness }: BreakdownQuery): Promise<ValueRow[]> {
  const sums =
    by === "cost_usd"
      ? Prisma.sql`sum(cost_micros + estimated_cost_micros)::float8 / 1e6 AS value,
          sum(estimated_cost_micros)::float8 / 1e6 AS estimated`
      : Prisma.sql`sum(fresh + cache_write)::float8 AS value, 0::float8 AS estimated`;
  const only = harness === undefined ? Prisma.sql`harness <> ${ALL}` : Prisma.sql`harness = ${harness}`;
  return highest(
    reader,
    Prisma.sql`
      SELECT harness, NULLIF(model, '') AS model, ${sums}
      FROM ${rollupsIn(reader, only, piecesOf(span))} GROUP BY harness, model`,
  );
}

/** What the latest sessions in a range know of their tokens and their cost. */
async function readKnown(
  { prisma, projectId }: Reader,
  { from, to }: Span,
  harness: string | undefined,
): Promise<Known> {
  const [known] = await prisma.$queryRaw<Known[]>`
    SELECT COALESCE(sum(turns), 0)::float8 AS turns, COALESCE(sum(cost_turns + estimated_cost_turns), 0)::float8 AS priced,
      COALESCE(sum(prompt_tokens), 0)::float8 AS prompt, COALESCE(sum(estimated_tokens), 0)::float8 AS estimated
    FROM (SELECT s.turns, s.cost_turns, s.estimated_cost_turns, s.prompt_tokens, s.estimated_tokens FROM sessions s
      WHERE s.project_id = ${projectId} AND s.deleted_at IS NULL AND s.last_slot >= ${slotOf(from)}
        AND s.last_at >= ${new Date(from)} AND s.first_at < ${new Date(to)} ${ofHarness(harness)}
      ORDER BY s.last_slot DESC LIMIT ${SESSIONS}) latest`;
  return known!;
}
