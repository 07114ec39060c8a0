import { DEFAULT_PROJECT_ID } from "@plimsoll/protocol/api";
import { DEFAULT_THRESHOLDS, type Thresholds } from "@plimsoll/protocol/policy";
import type { PrismaClient } from "../db/client.ts";

/** Judges all agents of the default project by the same lines at all times, as an upgraded server judges those it has. */
export async function setTestLines(
  prisma: PrismaClient,
  thresholds: Thresholds = DEFAULT_THRESHOLDS,
): Promise<void> {
  const row = { projectId: DEFAULT_PROJECT_ID, generation: 0, createdAt: new Date() };
  await prisma.policyVersion.create({
    data: {
      ...row,
      hash: "",
      body: { settings: { thresholds: { ...thresholds } as object }, layers: [] },
      reason: "The lines of tests",
      actor: "server",
    },
  });
  await prisma.policyStep.create({ data: { ...row, revision: 0, at: new Date(0), share: 1, harnesses: [] } });
}
