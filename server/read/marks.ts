import type { FleetMarks, StatusQuery } from "@plimsoll/protocol/api";
import { Prisma } from "../db/client.ts";
import type { Reader } from "../lines/reader.ts";
import { iso, spanOf } from "../times.ts";

const MOST_STEPS = 20;
const MOST_ALERTS = 50;

/** The policies, rollouts and alerts that began in a range. Policies count for every harness, alerts for the one asked for. */
export async function readMarks({ prisma, projectId }: Reader, query: StatusQuery): Promise<FleetMarks> {
  const { from, to } = spanOf(query);
  const during = { gte: new Date(from), lt: new Date(to) };
  const ofHarness =
    query.harness === undefined ? Prisma.empty : Prisma.sql`AND a.labels->>'harness' = ${query.harness}`;
  const [steps, alerts] = await Promise.all([
    prisma.policyStep.findMany({
      where: { projectId, at: during, generation: { gt: 0 } },
      orderBy: { revision: "desc" },
      take: MOST_STEPS,
    }),
    prisma.$queryRaw<{ at: Date; name: string }[]>`
      SELECT a.fired_at AS at, r.name FROM alerts a
      JOIN alert_rules r ON r.project_id = ${projectId} AND r.id = a.rule_id
      WHERE a.project_id = ${projectId} AND a.fired_at >= ${during.gte} AND a.fired_at < ${during.lt} ${ofHarness}
      ORDER BY a.fired_at DESC, a.id DESC LIMIT ${MOST_ALERTS}`,
  ]);
  const marks: FleetMarks["marks"] = [
    ...steps.map(({ at, generation, share }) =>
      share < 1
        ? { at: iso(at), kind: "rollout" as const, label: `v${generation} stage` }
        : { at: iso(at), kind: "policy" as const, label: `v${generation}` },
    ),
    ...alerts.map(({ at, name }) => ({ at: iso(at), kind: "alert" as const, label: name })),
  ];
  return { marks: marks.sort((a, b) => a.at.localeCompare(b.at)) };
}
