import { binOf, hourWrite, larger, listPrice, normaliseUsage } from "@plimsoll/fold";
import { BOUNDARY_TYPES } from "@plimsoll/protocol/events";
import { Prisma, type PrismaClient } from "../db/client.ts";
import { ALL, bucketOf, GRAINS } from "../db/tables/buckets.ts";
import { minutesBetween, ROLLUP_COLUMNS } from "../db/tables/packed-minutes.ts";
import { dayOf, OTHER } from "../db/tables/rollup-names.ts";
import { levelOf, sentUsage } from "../db/tables/turns.ts";
import { storedTurns } from "./turns.ts";

const ALL_MINUTES = minutesBetween({
  project: Prisma.raw("o.id"),
  names: Prisma.raw("true"),
  from: Prisma.raw("'-infinity'"),
  to: Prisma.raw("'infinity'"),
});
/** The rows of `rollups` of all projects, packed or not, to select from. */
export const EVERY_ROLLUP = `(SELECT o.id AS project_id, r.* FROM projects o CROSS JOIN LATERAL (
  SELECT ${ROLLUP_COLUMNS.text} FROM rollups r WHERE r.project_id = o.id AND r.grain > 1 UNION ALL ${ALL_MINUTES.text}) r)`;

interface Sum {
  turns: number;
  missing: number;
  prompt: number;
  output: number;
  estimated: number;
  unpriced: number;
  peakTokens: number | null;
  peakUtilization: number | null;
  bins: number[];
}

/** A name may contain a slash, so the parts are joined as JSON. */
const keyOf = (...parts: (string | number)[]): string => JSON.stringify(parts);

/** The names that a day's rollups have, as `harness`, or as `harness` and `model`. */
async function readNames(prisma: PrismaClient, projectId: number): Promise<Set<string>> {
  const rows = await prisma.rollupName.findMany({ where: { projectId } });
  return new Set(rows.map(({ day, harness, model }) => keyOf(day.getTime(), harness, model)));
}

/** The rollups that the stored turns add up to, by grain, bucket, harness and model. */
export async function sumsOfTurns(prisma: PrismaClient, projectId = 1): Promise<Record<string, Sum>> {
  const where = { projectId };
  const [names, turns, agents, sessions, models] = await Promise.all([
    readNames(prisma, projectId),
    storedTurns(prisma),
    prisma.agent.findMany({ where }),
    prisma.session.findMany({ where }),
    prisma.model.findMany({ where }),
  ]);
  const harnesses = new Map(sessions.map(({ id, harness }) => [id, harness]));
  const harnessOf = new Map(agents.map(({ number, sessionId }) => [number, harnesses.get(sessionId)!]));
  const modelOf = new Map(models.map(({ id, name }) => [id, name]));
  const sums: Record<string, Sum> = {};
  for (const turn of turns.filter((stored) => stored.projectId === projectId)) {
    const { contextTokens, windowTokens } = turn;
    const level = levelOf(turn);
    const share = level !== undefined && windowTokens !== undefined ? level / windowTokens : undefined;
    const own = [harnessOf.get(turn.agent)!, modelOf.get(turn.modelId)!] as const;
    const isNamed = names.has(keyOf(dayOf(turn.at), ...own));
    const sent = sentUsage(turn);
    const usage = normaliseUsage(sent);
    const price = turn.costMicros === undefined ? listPrice(own[1], usage, hourWrite(sent)) : 0;
    for (const grain of GRAINS) {
      const bucket = bucketOf(turn.at, grain);
      for (const [harness, model] of [isNamed ? own : [OTHER, OTHER], [ALL, ALL]] as const) {
        const key = keyOf(grain, bucket, harness, model);
        sums[key] ??= {
          turns: 0,
          missing: 0,
          prompt: 0,
          output: 0,
          estimated: 0,
          unpriced: 0,
          peakTokens: null,
          peakUtilization: null,
          bins: [],
        };
        const sum = sums[key];
        sum.turns += 1;
        if (contextTokens === undefined) sum.missing += 1;
        // The cached part of a prompt may be known although the whole is not.
        sum.prompt += contextTokens ?? (turn.cacheRead ?? 0) + (turn.cacheWrite ?? 0);
        sum.output += turn.outputTokens ?? 0;
        sum.estimated += Math.round((price ?? 0) * 1e6);
        if (price === undefined) sum.unpriced += 1;
        sum.peakTokens = larger(sum.peakTokens ?? undefined, level) ?? null;
        if (share === undefined) continue;
        sum.peakUtilization = Math.max(sum.peakUtilization ?? 0, Math.fround(share));
        const bin = binOf(share);
        while (sum.bins.length <= bin) sum.bins.push(0);
        sum.bins[bin]! += 1;
      }
    }
  }
  return sums;
}

interface StoredRow {
  grain: number;
  bucket: Date;
  harness: string;
  model: string;
  turns: number;
  missing: number;
  prompt: bigint;
  output: bigint;
  estimated_cost_micros: bigint;
  unpriced_turns: number;
  peak_tokens: number | null;
  peak_utilization: number | null;
  bins: number[];
}

/** The stored rollups, in the same form. */
export async function storedRollups(prisma: PrismaClient, projectId = 1): Promise<Record<string, Sum>> {
  const rows = await prisma.$queryRawUnsafe<StoredRow[]>(
    `SELECT r.*, r.fresh + r.cache_read + r.cache_write AS prompt FROM ${EVERY_ROLLUP} r WHERE project_id = $1 AND turns <> 0`,
    projectId,
  );
  return Object.fromEntries(
    rows.map(({ grain, bucket, harness, model, turns, missing, output, prompt, ...row }) => {
      const bins = [...row.bins];
      while (bins.at(-1) === 0) bins.pop();
      const peakUtilization = row.peak_utilization === null ? null : Math.fround(row.peak_utilization);
      return [
        keyOf(grain, bucket.getTime(), harness, model),
        {
          ...{ turns, missing, prompt: Number(prompt), output: Number(output) },
          ...{ peakTokens: row.peak_tokens, peakUtilization, bins },
          ...{ estimated: Number(row.estimated_cost_micros), unpriced: row.unpriced_turns },
        },
      ];
    }),
  );
}

type Falls = Record<string, [count: number, reclaimed: number]>;

/** The boundary rollups that the stored boundaries add up to. */
export async function sumsOfBoundaries(prisma: PrismaClient, projectId = 1): Promise<Falls> {
  const sums: Falls = {};
  const rows = await prisma.boundary.findMany({ where: { projectId, type: { in: [...BOUNDARY_TYPES] } } });
  const sessions = await prisma.session.findMany({ where: { projectId } });
  const names = await readNames(prisma, projectId);
  const harnesses = new Map(sessions.map(({ id, harness }) => [id, harness]));
  for (const { type, at, sessionId, tokensBefore, tokensAfter } of rows) {
    const reclaimed =
      tokensBefore === null || tokensAfter === null ? 0 : Math.max(0, tokensBefore - tokensAfter);
    const own = harnesses.get(sessionId!)!;
    const isNamed = names.has(keyOf(dayOf(at.getTime()), own, ALL));
    for (const grain of GRAINS) {
      for (const harness of [isNamed ? own : OTHER, ALL]) {
        const key = keyOf(grain, bucketOf(at.getTime(), grain), harness, type);
        const [count, sum] = sums[key] ?? [0, 0];
        sums[key] = [count + 1, sum + reclaimed];
      }
    }
  }
  return sums;
}

export async function storedBoundaryRollups(prisma: PrismaClient, projectId = 1): Promise<Falls> {
  const rows = await prisma.boundaryRollup.findMany({ where: { projectId, count: { not: 0 } } });
  return Object.fromEntries(
    rows.map(({ grain, bucket, harness, type, count, reclaimed }) => [
      keyOf(grain, bucket.getTime(), harness, type),
      [count, Number(reclaimed)],
    ]),
  );
}
