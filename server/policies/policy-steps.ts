import type { RolloutStep } from "@plimsoll/protocol/policy";
import type { Transaction } from "../db/client.ts";
import { PlimsollError } from "../errors.ts";

/** To whom a step offers a version. */
export type Offer = Omit<RolloutStep, "at">;

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

export interface NewStep extends Offer {
  projectId: number;
  revision: number;
  generation: number;
  at: Date;
  createdAt: Date;
}

/** Steps of a version count by time; a clock that was set back must not put a step before the one it follows. */
export async function addStep(
  tx: Pick<Transaction, "policyStep">,
  { harnesses, ...step }: NewStep,
): Promise<void> {
  const { projectId, generation } = step;
  const last = await tx.policyStep.findFirst({
    where: { projectId, generation },
    orderBy: { revision: "desc" },
  });
  const at = last !== null && last.at > step.at ? last.at : step.at;
  // Copied, because Prisma takes no readonly array.
  await tx.policyStep.create({ data: { ...step, at, harnesses: [...harnesses] } });
}
