import { isDifferent } from "@plimsoll/fold";
import type { ObservedHarnessLine, PolicyHarnessList, PolicyHarnessView } from "@plimsoll/protocol/api";
import { convergenceOf, latestSaid } from "@plimsoll/protocol/policy";
import type { PrismaClient } from "../db/client.ts";
import type { Harness } from "../db/generated/client.ts";
import { queriesOf } from "../db/sql.ts";
import { harnessId } from "../db/tables/identity.ts";
import { type HarnessAcks, readAcknowledgements, saidIn } from "../lines/acknowledgements.ts";
import type { FreshReader, Reader } from "../lines/reader.ts";
import { readHarnessLines } from "../read/harness-lines.ts";
import { LIVE_FOR } from "../read/liveness.ts";
import { iso } from "../times.ts";
import { type ClockAhead, clockBehind, isStillAhead, readClocksAhead } from "./clocks-off.ts";
import { knownHarnesses, liveOf } from "./rollout-rows.ts";

/** Instances in one answer. */
const MOST_HARNESSES = 500;
const MOST_MODELS = 200;

/** How far each harness instance is with its policy: those heard from last, first. */
export async function readPolicyHarnesses(reader: FreshReader): Promise<PolicyHarnessList> {
  const { prisma, projectId, policy } = reader;
  const where = { projectId, deletedAt: null };
  const [rows, total, known] = await Promise.all([
    prisma.harness.findMany({
      where,
      orderBy: [{ lastReceivedAt: "desc" }, { id: "asc" }],
      take: MOST_HARNESSES,
    }),
    prisma.harness.count({ where }),
    knownHarnesses(prisma, projectId, reader.now),
  ]);
  const instances = rows.map(({ instance }) => instance);
  const [acks, models, ahead] = await Promise.all([
    readAcknowledgements(queriesOf(reader), projectId, instances),
    knownModels(prisma, projectId),
    readClocksAhead(prisma, projectId, reader.now),
  ]);
  const { lines } = await readHarnessLines(reader, {});
  return {
    generation: policy.generation,
    harnesses: [
      ...(await unheardViews(reader, ahead)),
      ...rows.map((row) => {
        const view = harnessView(reader, row, acks.get(row.instance)!, models, lines);
        const off = ahead.get(row.instance);
        return isStillAhead(off, row.lastReceivedAt.getTime()) ? { ...view, ...clockOff(off.message) } : view;
      }),
    ],
    more: Math.max(0, total - rows.length),
    connected: liveOf(known).length,
  };
}

const clockOff = (clock: string) => ({ state: "clock_off" as const, clock });

/** Harnesses that nothing was ever accepted of, because their clock is ahead. */
async function unheardViews(
  { prisma, projectId, policy }: Reader,
  ahead: ReadonlyMap<string, ClockAhead>,
): Promise<PolicyHarnessView[]> {
  const instances = [...ahead.keys()];
  const heard = await prisma.harness.findMany({
    where: { projectId, id: { in: instances.map((instance) => harnessId(projectId, instance)) } },
    select: { instance: true },
  });
  const known = new Set(heard.map(({ instance }) => instance));
  return [...ahead].flatMap(([instance, { message, at }]) => {
    if (known.has(instance)) return [];
    const { generation, hash } = policy.answerFor(instance, undefined);
    return {
      instance,
      name: null,
      version: null,
      online: true,
      last_at: iso(at),
      desired: { generation, hash },
      said: null,
      running: null,
      not_effective: null,
      ...clockOff(message),
    };
  });
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
  lines: readonly ObservedHarnessLine[],
): PolicyHarnessView {
  const { instance } = row;
  const { generation, hash } = policy.answerFor(instance, undefined);
  const said = saidIn(known);
  const latest = latestSaid(said);
  const behind = clockBehind(policy, latest);
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
    not_effective: notEffective(instance, lines),
    clock: null,
    ...(behind !== undefined && clockOff(behind)),
  };
}

/** How often and where, in its line, an instance compacts elsewhere than at the line that it acknowledged. */
function notEffective(
  instance: string,
  lines: readonly ObservedHarnessLine[],
): PolicyHarnessView["not_effective"] {
  const elsewhere = lines
    .filter(
      ({ harness, line, verdict }) =>
        harness === instance && line?.basis === "acknowledged" && isDifferent(verdict),
    )
    .sort((one, other) => other.observed.falls - one.observed.falls)[0];
  if (elsewhere === undefined) return null;
  const { observed, line } = elsewhere;
  return { compactions: observed.falls, median: observed.median / line!.tokens! };
}
