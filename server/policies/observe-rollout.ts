import {
  convergenceOf,
  isOffered,
  latestSaid,
  type RateChange,
  type RolloutObservations,
  unmovedThresholds,
} from "@plimsoll/protocol/policy";
import { Prisma, type PrismaClient } from "../db/client.ts";
import type { PolicyRollout } from "../db/generated/client.ts";
import { queriesOf } from "../db/sql.ts";
import { minutesBetween } from "../db/tables/packed-minutes.ts";
import { readAcknowledgements, type Said, saidIn } from "../lines/acknowledgements.ts";
import type { PolicyBook } from "../lines/policy-book.ts";
import { HOUR_MS } from "../times.ts";
import { knownModels } from "./read-harnesses.ts";
import { knownHarnesses, liveOf } from "./rollout-rows.ts";

/** Milliseconds before the version that are compared with the time since: as long as it, within these bounds. */
const SHORTEST_BEFORE = HOUR_MS;
const LONGEST_BEFORE = 24 * HOUR_MS;
/** Harnesses whose turns are compared. */
const MOST_COMPARED = 2_000;

/** What is known of the harnesses while a version is rolled out, with those that rejected it. */
export interface ObservedRollout extends Omit<RolloutObservations, "rejected"> {
  /** Connected harnesses, those of them that are offered the version, and those that run it. */
  live: readonly string[];
  offered: readonly string[];
  applied: readonly string[];
  rejected: readonly { instance: string; said: Said }[];
}

/** @param now the database's time, epoch ms */
export async function observeRollout(
  prisma: PrismaClient,
  book: PolicyBook,
  { projectId, generation, resumedAt, passedRevision }: PolicyRollout,
  now: number,
): Promise<ObservedRollout> {
  const harnesses = await knownHarnesses(prisma, projectId, now);
  const isOffer = (instance: string) => book.answerFor(instance, undefined).generation === generation;
  const passed = passedRevision === null ? undefined : book.stepAt(passedRevision);
  const isOwn = (instance: string) => passed === undefined || !isOffered(passed, generation, instance);
  const live = liveOf(harnesses);
  const offered = live.filter(isOffer);
  const [known, models] = await Promise.all([
    readAcknowledgements(queriesOf({ prisma }), projectId, offered),
    knownModels(prisma, projectId),
  ]);
  const rejected: { instance: string; said: Said }[] = [];
  const applied: { instance: string; at: number }[] = [];
  for (const instance of offered) {
    const said = saidIn(known.get(instance)!);
    const latest = latestSaid(said);
    if (latest === undefined) continue;
    const state = convergenceOf(book.answerFor(instance, undefined), said, {
      capabilities: [],
      isKnown: (of, hash) => book.hasHash(of, hash, instance, models),
    });
    if (state === "rejected") rejected.push({ instance, said: latest });
    // Sessions run with what was written once one has begun, whether a compaction has shown it or not.
    const runs = state === "written" && latest.effective !== undefined;
    if (runs || state === "applied" || state === "overridden" || state === "drifted")
      applied.push({ instance, at: Math.max(latest.at, resumedAt?.getTime() ?? latest.at) });
  }
  const compared = applied.slice(0, MOST_COMPARED).map(
    ({ instance, at }): ComparedHarness => ({
      instance,
      at,
      from: at - Math.min(LONGEST_BEFORE, Math.max(SHORTEST_BEFORE, now - at)),
    }),
  );
  const body = book.bodyOf(generation);
  const unmoved = body === undefined ? [] : unmovedThresholds(book.previous(generation).body, body);
  const countOwn = (some: readonly { instance: string }[]) =>
    some.filter(({ instance }) => isOwn(instance)).length;
  return {
    live,
    offered,
    applied: applied.map(({ instance }) => instance),
    rejected,
    own: {
      connected: offered.filter(isOwn).length,
      applied: countOwn(applied),
      rejected: countOwn(rejected),
    },
    hasOwn: harnesses.some(({ instance }) => isOffer(instance) && isOwn(instance)),
    hasOthers: harnesses.length === 0 || harnesses.some(({ instance }) => !isOffer(instance)),
    ...(await compare(prisma, projectId, compared, unmoved)),
  };
}

interface ComparedHarness {
  instance: string;
  /** When it applied the version, and from when on its turns count. Epoch ms, by its own clock. */
  at: number;
  from: number;
}

const NOTHING: RateChange = { before: { events: 0, turns: 0 }, since: { events: 0, turns: 0 } };

interface SumRow {
  kind: "turns" | "restarts" | "crossings";
  before: number;
  since: number;
}

async function compare(
  prisma: PrismaClient,
  projectId: number,
  compared: readonly ComparedHarness[],
  thresholds: readonly string[],
): Promise<Pick<RolloutObservations, "restarts" | "crossings">> {
  if (compared.length === 0) return { restarts: NOTHING, crossings: NOTHING };
  const names = compared.map(({ instance }) => instance);
  const starts = compared.map(({ from }) => new Date(from));
  const middles = compared.map(({ at }) => new Date(at));
  const minutes = minutesBetween({
    project: Prisma.sql`${projectId}`,
    names: Prisma.sql`harness = c.harness`,
    from: Prisma.sql`c.start`,
    to: Prisma.sql`'infinity'::timestamptz`,
  });
  const rows = await prisma.$queryRaw<SumRow[]>`
    WITH c AS (
      SELECT * FROM unnest(${names}::text[], ${starts}::timestamptz[], ${middles}::timestamptz[]) AS c(harness, start, middle)
    )
    SELECT 'turns' AS kind,
      COALESCE(sum(r.turns) FILTER (WHERE r.bucket < c.middle), 0)::int AS before,
      COALESCE(sum(r.turns) FILTER (WHERE r.bucket >= c.middle), 0)::int AS since
    FROM c CROSS JOIN LATERAL (${minutes}) r
    UNION ALL
    SELECT 'restarts',
      COALESCE(sum(b.count) FILTER (WHERE b.bucket < c.middle), 0)::int,
      COALESCE(sum(b.count) FILTER (WHERE b.bucket >= c.middle), 0)::int
    FROM c JOIN boundary_rollups b
      ON b.project_id = ${projectId} AND b.grain = 1 AND b.harness = c.harness AND b.bucket >= c.start AND b.type = 'restarted'
    UNION ALL
    SELECT 'crossings',
      count(*) FILTER (WHERE x.at < c.middle)::int,
      count(*) FILTER (WHERE x.at >= c.middle)::int
    FROM c
    JOIN sessions s ON s.project_id = ${projectId} AND s.harness = c.harness AND s.last_at >= c.start
    JOIN crossings x ON x.project_id = ${projectId} AND x.session_id = s.id AND x.threshold = ANY(${[...thresholds]}::text[])
      AND x.up AND x.at >= c.start`;
  const sums = Object.fromEntries(rows.map(({ kind, ...sum }) => [kind, sum])) as Record<
    SumRow["kind"],
    Omit<SumRow, "kind">
  >;
  const change = (kind: "restarts" | "crossings"): RateChange => ({
    before: { events: sums[kind].before, turns: sums.turns.before },
    since: { events: sums[kind].since, turns: sums.turns.since },
  });
  return { restarts: change("restarts"), crossings: change("crossings") };
}
