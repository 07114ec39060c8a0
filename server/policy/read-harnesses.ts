import type { PolicyHarnessList, PolicyHarnessView, ThresholdTimeline } from "@plimsoll/protocol";
import { convergenceOf, latestSaid, lineOf, notEffective } from "@plimsoll/protocol";
import type { PrismaClient } from "../db/client.ts";
import type { Harness } from "../db/generated/client.ts";
import { type FreshReader, iso, LIVE_FOR, queriesOf, type Reader } from "../telemetry/reader.ts";
import { type HarnessAcks, readAcknowledgements, saidIn } from "./acknowledgements.ts";

/** Instances in one answer, and compactions that are looked at. */
const MOST_HARNESSES = 500;
const MOST_COMPACTIONS = 2_000;
const MOST_MODELS = 200;

/** How far each harness instance is with its policy: those heard from last, first. */
export async function readPolicyHarnesses(reader: FreshReader): Promise<PolicyHarnessList> {
  const { prisma, projectId, policy } = reader;
  const where = { projectId, deletedAt: null };
  const [rows, total] = await Promise.all([
    prisma.harness.findMany({
      where,
      orderBy: [{ lastReceivedAt: "desc" }, { id: "asc" }],
      take: MOST_HARNESSES,
    }),
    prisma.harness.count({ where }),
  ]);
  const instances = rows.map(({ instance }) => instance);
  const [acks, models] = await Promise.all([
    readAcknowledgements(queriesOf(reader), projectId, instances),
    knownModels(prisma, projectId),
  ]);
  const shares = await readCompactions(reader, instances, acks);
  return {
    generation: policy.generation,
    harnesses: rows.map((row) =>
      harnessView(reader, row, acks.get(row.instance)!, models, shares.get(row.instance) ?? []),
    ),
    more: Math.max(0, total - rows.length),
  };
}

/** The latest models of a project: a policy may have other settings for some of them. */
export async function knownModels(prisma: Pick<PrismaClient, "model">, projectId: number): Promise<string[]> {
  const rows = await prisma.model.findMany({
    where: { projectId },
    orderBy: { id: "desc" },
    take: MOST_MODELS,
    select: { name: true },
  });
  return rows.map(({ name }) => name);
}

function harnessView(
  { policy, now }: Reader,
  row: Harness,
  known: HarnessAcks,
  models: readonly string[],
  shares: readonly number[],
): PolicyHarnessView {
  const { instance } = row;
  const { generation, hash } = policy.answerFor(instance, undefined);
  const said = saidIn(known);
  const latest = latestSaid(said);
  const runs = policy.timelineOf(instance, known.acks).at(now, undefined);
  const isAcknowledged = Object.values(runs.sources).includes("acknowledged");
  return {
    instance,
    name: row.name,
    version: row.version,
    online: row.status !== "bye" && row.lastReceivedAt.getTime() > now - LIVE_FOR,
    last_at: iso(row.lastAt),
    desired: { generation, hash },
    state: convergenceOf({ generation, hash }, said, {
      capabilities: row.capabilities,
      isKnown: (of, claimed) => policy.hasHash(of, claimed, instance, models),
    }),
    said:
      latest === undefined
        ? null
        : {
            generation: latest.generation,
            at: iso(latest.at),
            code: latest.code ?? null,
            message: latest.message ?? null,
            differences: latest.differences ?? [],
          },
    running: isAcknowledged ? runs.generation : null,
    not_effective: notEffective(shares) ?? null,
  };
}

interface CompactionRow {
  harness: string;
  at: Date;
  tokens: number;
  model: string | null;
  window: number | null;
}

/** Where each harness compacted since it acknowledged its line, as shares of that line. By instance. */
async function readCompactions(
  { prisma, projectId, policy }: Reader,
  instances: readonly string[],
  acks: ReadonlyMap<string, HarnessAcks>,
): Promise<Map<string, number[]>> {
  const managed = instances.filter((instance) => acks.get(instance)!.acks.length > 0);
  const shares = new Map<string, number[]>();
  if (managed.length === 0) return shares;
  const rows = await prisma.$queryRaw<CompactionRow[]>`
    SELECT s.harness, b.at, b.tokens_before AS tokens, a.model, a.current_window AS window
    FROM sessions s JOIN agents a ON a.project_id = ${projectId} AND a.session_id = s.id
    JOIN boundaries b ON b.project_id = ${projectId} AND b.agent_id = a.id AND b.type = 'compacted'
    WHERE s.project_id = ${projectId} AND s.harness = ANY(${managed}) AND b.origin = 0 AND b.tokens_before IS NOT NULL
    ORDER BY b.at DESC LIMIT ${MOST_COMPACTIONS}`;
  const timelines = new Map(
    managed.map((instance): [string, ThresholdTimeline] => [
      instance,
      policy.timelineOf(instance, acks.get(instance)!.acks),
    ]),
  );
  for (const { harness, at, tokens, model, window } of rows) {
    const { thresholds, sources } = timelines.get(harness)!.at(at.getTime(), model ?? undefined);
    const line = lineOf(thresholds, window ?? undefined);
    if (line === undefined || sources[line.threshold] !== "acknowledged") continue;
    shares.set(harness, [...(shares.get(harness) ?? []), tokens / line.tokens]);
  }
  return shares;
}
