import { larger, utilizationOf } from "@plimsoll/fold";
import { Prisma } from "../../db/client.ts";
import type { Sql, WriterSql } from "../../db/sql.ts";
import { ALL, bucketOf, GRAINS, SLOT_MS, slotOf } from "../../db/tables/buckets.ts";
import { minutesBetween } from "../../db/tables/packed-minutes.ts";
import { readNamesOfDays } from "../../db/tables/read-rollup-names.ts";
import { type ActiveAgent, activeAgents, readTurnsBetween } from "../../db/tables/read-turns.ts";
import { dayOf, OTHER } from "../../db/tables/rollup-names.ts";
import { type RollupRow, rollups } from "../../db/tables/rollups.ts";
import { levelOf } from "../../db/tables/turns.ts";

const MINUTE_MS = 60_000;
/** Minutes whose peak is read again in one step, at most. */
const STALE_MINUTES = 120;
/** Blocks read in one step, unless a single minute has more: 150 to 300 ms. */
const MOST_BLOCKS = 2_000;

/** The oldest minutes whose peak may be too high, all harnesses and models of each. */
const STALE = `
WITH minutes AS (
  SELECT DISTINCT r.bucket FROM rollups r WHERE r.project_id = $1 AND r.grain = 1 AND r.stale ORDER BY 1
  LIMIT ${STALE_MINUTES}
)
SELECT (extract(epoch FROM r.bucket) * 1000)::float8 AS bucket, r.harness, r.model
FROM minutes i JOIN rollups r ON r.project_id = $1 AND r.grain = 1 AND r.stale AND r.bucket = i.bucket
ORDER BY r.bucket`;

/** $2 is NULL for all harnesses. */
const AGENTS = activeAgents(
  "($2::text[] IS NULL OR s.harness = ANY($2::text[])) AND s.last_slot >= $5::int4 AND s.first_slot <= $6::int4",
);
const MODELS = "SELECT m.id, m.name FROM models m WHERE m.project_id = $1";

/** Rows of minutes, packed or not. */
function minutes(names: string, from: string, to: string): string {
  return minutesBetween({
    project: Prisma.raw("$1"),
    names: Prisma.raw(names),
    from: Prisma.raw(from),
    to: Prisma.raw(to),
  }).text;
}

/** The whole fleet's row of a minute: the highest of its parts. */
const READ_FLEET_PEAKS = `
UPDATE rollups r SET stale = false, peak_tokens = o.tokens, peak_utilization = o.utilization
FROM (
  SELECT p.bucket, max(p.peak_tokens) AS tokens, max(p.peak_utilization) AS utilization
  FROM (
    SELECT DISTINCT n.harness FROM rollup_names n
    WHERE n.project_id = $1 AND n.model <> '${ALL}' AND n.day > $2::timestamptz - interval '1 day' AND n.day <= $3
  ) h CROSS JOIN LATERAL (${minutes("harness = h.harness", "$2::timestamptz", "$3::timestamptz + interval '1 minute'")}) p
  GROUP BY 1
) o
WHERE r.project_id = $1 AND r.grain = 1 AND r.stale AND r.harness = '${ALL}' AND r.bucket = o.bucket`;

/** Longer buckets: the highest of their minutes. */
const READ_LONGER_PEAKS = `
UPDATE rollups r SET stale = false, peak_tokens = o.tokens, peak_utilization = o.utilization
FROM (
  SELECT l.grain, l.bucket, l.harness, l.model, max(p.peak_tokens) AS tokens,
    max(p.peak_utilization) AS utilization
  FROM rollups l CROSS JOIN LATERAL (
    ${minutes("harness = l.harness AND model = l.model", "l.bucket", "l.bucket + l.grain * interval '1 minute'")}) p
  WHERE l.project_id = $1 AND l.grain > 1 AND l.bucket > $2::timestamptz - l.grain * interval '1 minute' AND l.bucket <= $3
  GROUP BY 1, 2, 3, 4
) o
WHERE r.project_id = $1 AND r.grain = o.grain AND r.bucket = o.bucket AND r.harness = o.harness AND r.model = o.model`;

/** Retention removed turns from before the horizon: what is left does not tell the peak, which stays. Epoch ms. */
const HORIZON = `
SELECT COALESCE(extract(epoch FROM o.horizon) * 1000, '-Infinity')::float8 AS at FROM projects o WHERE o.id = $1`;

/** A minute without any turn left has no peak to read. */
const FORGET_STALE = `
UPDATE rollups SET stale = false WHERE project_id = $1 AND grain = 1 AND stale AND bucket >= $2 AND bucket <= $3`;

type RollupPlace = Pick<RollupRow, "bucket" | "harness" | "model">;
type Peaks = Pick<RollupRow, "peakTokens" | "peakUtilization">;

/** Stale rows of neighbouring minutes, and the agents that were active then. */
interface StalePart {
  /** Epoch ms. */
  minutes: readonly number[];
  places: readonly RollupPlace[];
  agents: readonly ActiveAgent[];
  blocks: number;
}

/** Reads the peaks of some minutes again whose levels were corrected. Returns the number of minutes. */
export async function refreshStalePeaks(sql: WriterSql, projectId: number): Promise<number> {
  const stale = await sql.query<RollupPlace>(STALE, projectId);
  const minutes = [...new Set(stale.map(({ bucket }) => bucket))];
  let refreshed = 0;
  let blocks = 0;
  for (const span of spansOf(minutes)) {
    const part = await readPart(sql, projectId, stale, span);
    if (refreshed > 0 && blocks + part.blocks > MOST_BLOCKS) break;
    await refreshPart(sql, projectId, part);
    refreshed += part.minutes.length;
    blocks += part.blocks;
    if (part.minutes.length < span.length) break;
  }
  return refreshed;
}

/** Consecutive minutes read together; minutes far apart would read everything in between. */
export function spansOf(minutes: readonly number[]): number[][] {
  const spans: number[][] = [];
  for (const minute of minutes) {
    const span = spans.at(-1);
    if (span !== undefined && minute - span.at(-1)! <= SLOT_MS) span.push(minute);
    else spans.push([minute]);
  }
  return spans;
}

/** As many of the minutes, from the first, as have few enough blocks; at least one. */
async function readPart(
  sql: Pick<Sql, "query">,
  projectId: number,
  stale: readonly RollupPlace[],
  span: readonly number[],
): Promise<StalePart> {
  for (let minutes = span; ; minutes = minutes.slice(0, Math.ceil(minutes.length / 2))) {
    const { from, to } = limitsOf(minutes);
    const places = stale.filter(({ bucket, harness }) => bucket >= from && bucket < to && harness !== ALL);
    const names = [...new Set(places.map(({ harness }) => harness))];
    // Under the other name, turns of any harness may be counted.
    const harnesses = names.includes(OTHER) ? null : names;
    const slots = [slotOf(from), slotOf(to - 1)];
    const agents = await sql.query<ActiveAgent>(AGENTS, projectId, harnesses, from, to, ...slots);
    const blocks = agents.reduce((sum, agent) => sum + agent.blocks, 0);
    if (blocks <= MOST_BLOCKS || minutes.length === 1) return { minutes, places, agents, blocks };
  }
}

async function refreshPart(sql: WriterSql, projectId: number, part: StalePart): Promise<void> {
  const peaks = await readPeaks(sql, projectId, part);
  const [horizon] = await sql.query<{ at: number }>(HORIZON, projectId);
  const rows = part.places
    .filter(({ bucket }) => bucket >= (horizon?.at ?? Number.NEGATIVE_INFINITY))
    .map((place) => ({
      grain: 1,
      ...place,
      ...(peaks.get(keyOf(place)) ?? NO_PEAKS),
      stale: false,
    }));
  if (rows.length > 0) {
    const { text, values } = rollups.update(projectId, rows, ["peakTokens", "peakUtilization", "stale"]);
    sql.send(text, ...values);
  }
  const first = new Date(part.minutes[0]!);
  const last = new Date(part.minutes.at(-1)!);
  for (const statement of [READ_FLEET_PEAKS, READ_LONGER_PEAKS, FORGET_STALE])
    sql.send(statement, projectId, first, last);
  const empty = rollups.delete(projectId, keysOf(part), "AND t.turns = 0 AND NOT t.stale");
  sql.send(empty.text, ...empty.values);
}

/** The rows of every grain that count the minutes of a part. */
function keysOf({ minutes, places }: StalePart) {
  const all = minutes.map((bucket) => ({ bucket, harness: ALL, model: ALL }));
  return [...places, ...all].flatMap((place) =>
    GRAINS.map((grain) => ({ ...place, grain, bucket: bucketOf(place.bucket, grain) })),
  );
}

const NO_PEAKS: Peaks = { peakTokens: undefined, peakUtilization: undefined };

/** The highest levels of each minute, harness and model of a part. */
async function readPeaks(
  sql: Pick<Sql, "query">,
  projectId: number,
  { minutes, agents }: StalePart,
): Promise<Map<string, Peaks>> {
  const models = await sql.query<{ id: number; name: string }>(MODELS, projectId);
  const modelNames = new Map(models.map(({ id, name }) => [id, name]));
  const days = await readNamesOfDays(sql, projectId, new Set(minutes.map(dayOf)));
  const harnesses = new Map(agents.map(({ number, harness }) => [number, harness]));
  const wanted = new Set(minutes);
  const peaks = new Map<string, Peaks>();
  for await (const turns of readTurnsBetween(sql, projectId, agents, limitsOf(minutes))) {
    for (const turn of turns) {
      const bucket = bucketOf(turn.at, 1);
      const level = levelOf(turn);
      if (level === undefined || !wanted.has(bucket)) continue;
      const names = days.get(dayOf(bucket))!;
      const [harness, model] = names.placeOf(harnesses.get(turn.agent)!, modelNames.get(turn.modelId)!);
      const key = keyOf({ bucket, harness, model });
      const peak = peaks.get(key) ?? NO_PEAKS;
      peaks.set(key, {
        peakTokens: larger(peak.peakTokens, level),
        peakUtilization: larger(peak.peakUtilization, utilizationOf(level, turn.windowTokens)),
      });
    }
  }
  return peaks;
}

/** The time from the start of the first minute to the end of the last one. */
function limitsOf(minutes: readonly number[]): { from: number; to: number } {
  return { from: minutes[0]!, to: minutes.at(-1)! + MINUTE_MS };
}

/** No name may contain NUL, so the joined text is unambiguous. */
function keyOf({ bucket, harness, model }: RollupPlace): string {
  return `${bucket}\u0000${harness}\u0000${model}`;
}
