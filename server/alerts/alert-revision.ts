import type { Transaction } from "../db/client.ts";
import { PlimsollError } from "../errors.ts";

/**
 * Tells the evaluator of a project that a person changed something. Locks the project's rules until the transaction ends.
 * @throws PlimsollError `not_found`
 */
export async function raiseAlertRevision(
  tx: Pick<Transaction, "$executeRaw">,
  projectId: number,
): Promise<void> {
  const raised = await tx.$executeRaw`
    UPDATE projects SET alerting = true, alert_revision = alert_revision + 1
    WHERE id = ${projectId} AND deleting_at IS NULL`;
  if (raised === 0) throw new PlimsollError("not_found", `There is no project ${projectId}.`);
}
