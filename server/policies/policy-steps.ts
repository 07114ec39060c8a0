import type { Offer } from "@plimsoll/protocol/policy";
import type { Transaction } from "../db/client.ts";
import { PlimsollError } from "../errors.ts";

export const ALL_HARNESSES: Offer = { share: 1, harnesses: [] };

/**
 * The number of the next step. Locks the project's policy until the transaction ends.
 * @throws PlimsollError `not_found`
 */
export async function nextRevision(tx: Pick<Transaction, "$queryRaw">, projectId: number): Promise<number> {
  const [project] = await tx.$queryRaw<{ revision: number }[]>`
    UPDATE projects SET policy_revision = policy_revision + 1 WHERE id = ${projectId} AND deleting_at IS NULL
    RETURNING policy_revision AS revision`;
  if (project === undefined) throw new PlimsollError("not_found", `There is no project ${projectId}.`);
  return project.revision;
}

export interface NewStep {
  projectId: number;
  revision: number;
  generation: number;
  at: Date;
  createdAt: Date;
  /** To whom it offers the version. */
  offer: Offer;
}

/** Steps of a version count by time; a clock that was set back must not put a step before the one it follows. */
export async function addStep(
  tx: Pick<Transaction, "policyStep">,
  { offer: { share, harnesses }, ...step }: NewStep,
): Promise<void> {
  const last = await lastStep(tx, step);
  const at = last !== null && last.at > step.at ? last.at : step.at;
  // Copied, because Prisma takes no readonly array.
  await tx.policyStep.create({ data: { ...step, at, share, harnesses: [...harnesses] } });
}

/** The newest step of a version; null if there is none. */
export const lastStep = (
  tx: Pick<Transaction, "policyStep">,
  { projectId, generation }: Pick<NewStep, "projectId" | "generation">,
) => tx.policyStep.findFirst({ where: { projectId, generation }, orderBy: { revision: "desc" } });
