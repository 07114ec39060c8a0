import type {
  PolicyVersionDetail,
  PolicyVersionPage,
  PolicyVersionsQuery,
  PolicyVersionView,
} from "@plimsoll/protocol/api";
import type { PolicyBody } from "@plimsoll/protocol/policy";
import type { PolicyVersion } from "../db/generated/client.ts";
import { PlimsollError } from "../errors.ts";
import type { Reader } from "../lines/reader.ts";
import { iso } from "../times.ts";

type Place = Pick<Reader, "prisma" | "projectId">;

/** Saved versions, newest first, without generation 0. */
export async function readPolicyVersions(
  reader: Place,
  { limit, cursor }: PolicyVersionsQuery,
): Promise<PolicyVersionPage> {
  const rows = await reader.prisma.policyVersion.findMany({
    where: {
      projectId: reader.projectId,
      generation: { gt: 0, ...(cursor !== undefined && { lt: cursor }) },
    },
    orderBy: { generation: "desc" },
    take: limit + 1,
  });
  const items = await withStarts(reader, rows.slice(0, limit));
  return { items, next_cursor: rows.length > limit ? items.at(-1)!.generation : null };
}

/** @throws PlimsollError `not_found` */
export async function readPolicyVersion(reader: Place, generation: number): Promise<PolicyVersionDetail> {
  const row = await reader.prisma.policyVersion.findUnique({
    where: { projectId_generation: { projectId: reader.projectId, generation } },
  });
  if (row === null)
    throw new PlimsollError("not_found", `There is no generation ${generation} of the policy.`);
  const [view] = await withStarts(reader, [row]);
  return { ...view!, policy: row.body as unknown as PolicyBody, text: row.text };
}

async function withStarts(
  { prisma, projectId }: Place,
  rows: readonly PolicyVersion[],
): Promise<PolicyVersionView[]> {
  const steps = await prisma.policyStep.findMany({
    where: { projectId, generation: { in: rows.map(({ generation }) => generation) } },
    orderBy: { at: "desc" },
  });
  const starts = new Map(steps.map(({ generation, at }) => [generation, at]));
  return rows.map((row) => ({
    generation: row.generation,
    hash: row.hash,
    reason: row.reason,
    actor: row.actor,
    actor_name: row.actorName,
    restores: row.restores,
    created_at: iso(row.createdAt),
    from: iso(starts.get(row.generation) ?? row.createdAt),
  }));
}
