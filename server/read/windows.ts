import { type ObservedModel, settledSize, witnessesOf } from "@plimsoll/fold";
import type {
  ModelWindowList,
  ModelWindowView,
  ObservedWindowView,
  StatusQuery,
  UnknownWindows,
} from "@plimsoll/protocol/api";
import { Prisma } from "../db/client.ts";
import { queriesOf } from "../db/sql.ts";
import { ALL } from "../db/tables/buckets.ts";
import { readObservedWindows } from "../db/tables/observed-windows.ts";
import type { Reader } from "../lines/reader.ts";
import { DAY_MS, iso, spanOf } from "../times.ts";
import { piecesOf, rollupsIn } from "./buckets.ts";

/** Sizes in one answer. */
const MOST_WINDOWS = 500;
/** Models without a size in one answer. */
const MOST_UNKNOWN = 50;
/** Models with an observed size in one answer. */
const MOST_OBSERVED = 200;
/** Models that Fleet may name. */
const MOST_NAMED = 20;

/** The sizes that people set and harnesses reported, models in use without a size, and how many agents are to be recomputed. */
export async function readModelWindows({ prisma, projectId }: Reader): Promise<ModelWindowList> {
  const [rows, total, [unknown], recomputing, observed] = await Promise.all([
    prisma.modelWindow.findMany({ where: { projectId }, orderBy: { model: "asc" }, take: MOST_WINDOWS }),
    prisma.modelWindow.count({ where: { projectId } }),
    prisma.$queryRaw<{ names: string[]; total: number }[]>`
      WITH models AS MATERIALIZED (
        SELECT DISTINCT a.model FROM agents a
        WHERE a.project_id = ${projectId} AND a.window_source = 0 AND a.turns > 0 AND a.model IS NOT NULL)
      SELECT ARRAY(SELECT model FROM models ORDER BY model LIMIT ${MOST_UNKNOWN}) AS names,
        (SELECT count(*) FROM models)::int4 AS total`,
    // Agents set aside after an error are not waiting.
    prisma.refold.count({ where: { projectId, reason: { not: "failed" } } }),
    readObservedWindows(queriesOf({ prisma }), projectId),
  ]);
  const { names, total: totalUnknown } = unknown!;
  return {
    windows: rows.map((row) => ({ model: row.model, tokens: row.tokens, updated_at: iso(row.updatedAt) })),
    more_windows: Math.max(0, total - rows.length),
    unknown: names,
    more_unknown: totalUnknown - names.length,
    offers: names.map((model) => ({ model, offers: observed.offersFor(model) })),
    observed: observed.list().slice(0, MOST_OBSERVED).map(observedView),
    recomputing,
  };
}

function observedView({ harness, model, sizes }: ObservedModel): ObservedWindowView {
  return {
    harness,
    model,
    tokens: settledSize(sizes) ?? null,
    sizes: sizes.map(({ tokens, day, witnesses }) => ({
      tokens,
      last_on: iso(day * DAY_MS).slice(0, 10),
      witnesses: witnessesOf(witnesses),
    })),
  };
}

/** The models of a range without a size, with their turns and the sizes to offer. */
export async function readUnknownWindows(
  { prisma, projectId, now }: Reader,
  query: StatusQuery,
): Promise<UnknownWindows> {
  const span = spanOf(query);
  const pieces = piecesOf(span);
  const ofHarness = query.harness === undefined ? Prisma.empty : Prisma.sql`AND s.harness = ${query.harness}`;
  const [models, [all], observed] = await Promise.all([
    prisma.$queryRaw<{ model: string; turns: number; models: number; total: number }[]>`
      WITH unknown AS MATERIALIZED (
        SELECT DISTINCT s.harness, a.model FROM agents a
        JOIN sessions s ON s.project_id = ${projectId} AND s.id = a.session_id
        WHERE a.project_id = ${projectId} AND a.window_source = 0 AND a.turns > 0 AND a.model IS NOT NULL
          AND a.last_at >= ${new Date(span.from)} AND a.first_at < ${new Date(span.to)} AND s.deleted_at IS NULL ${ofHarness})
      SELECT u.model, sum(r.turns)::float8 AS turns, (count(*) OVER ())::int4 AS models,
        (sum(sum(r.turns)) OVER ())::float8 AS total
      FROM unknown u CROSS JOIN LATERAL (
        SELECT turns FROM ${rollupsIn({ projectId, now }, Prisma.sql`harness = u.harness AND model = u.model`, pieces)} WHERE turns > 0) r
      GROUP BY u.model ORDER BY turns DESC, u.model LIMIT ${MOST_NAMED}`,
    prisma.$queryRaw<{ turns: number | null }[]>`
      SELECT sum(turns)::float8 AS turns FROM ${rollupsIn({ projectId, now }, Prisma.sql`harness = ${query.harness ?? ALL}`, pieces)}`,
    readObservedWindows(queriesOf({ prisma }), projectId),
  ]);
  const [first] = models;
  return {
    models: models.map(({ model, turns }) => ({ model, turns, offers: observed.offersFor(model) })),
    more_models: (first?.models ?? 0) - models.length,
    turns: first?.total ?? 0,
    turns_in_range: all?.turns ?? 0,
  };
}

/** The size set for one model; undefined if there is none. */
export async function findModelWindow(
  { prisma, projectId }: Reader,
  model: string,
): Promise<ModelWindowView | undefined> {
  const row = await prisma.modelWindow.findUnique({ where: { projectId_model: { projectId, model } } });
  return row === null ? undefined : { model: row.model, tokens: row.tokens, updated_at: iso(row.updatedAt) };
}
