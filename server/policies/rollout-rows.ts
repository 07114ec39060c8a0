import { firstInLine, isOffered, type StagedPlan, stagesOf } from "@plimsoll/protocol/policy";
import type { Transaction } from "../db/client.ts";
import type { PolicyRollout } from "../db/generated/client.ts";
import { LIVE_FOR } from "../read/liveness.ts";
import type { Offer } from "./policy-steps.ts";

/**
 * Begins a rollout in stages.
 * @returns to whom the first stage offers the version: at least one of the harnesses that are heard from
 */
export async function beginRollout(
  tx: Pick<Transaction, "policyRollout" | "harness">,
  projectId: number,
  generation: number,
  plan: StagedPlan,
  now: Date,
): Promise<Offer> {
  const first = stagesOf(plan)[0]!;
  const live = await liveInstances(tx, projectId, now.getTime());
  const isTried = live.some((harness) => isOffered(first, generation, harness));
  const canary = isTried ? null : (firstInLine(generation, live) ?? null);
  const row = {
    projectId,
    generation,
    plan,
    state: "running",
    stage: 0,
    since: now,
    canary,
    forgiven: [],
  };
  await tx.policyRollout.create({ data: row });
  return offerOf({ plan, canary }, 0);
}

/** A newer version ends every rollout that is not over. */
export async function supersedeRollouts(
  tx: Pick<Transaction, "policyRollout">,
  projectId: number,
  now: Date,
): Promise<void> {
  await tx.policyRollout.updateMany({
    where: { projectId, state: { in: ["running", "halted"] } },
    data: { state: "superseded", endedAt: now },
  });
}

/** Instances heard from lately; `now` in epoch ms. */
export async function liveInstances(
  client: Pick<Transaction, "harness">,
  projectId: number,
  now: number,
): Promise<string[]> {
  const rows = await client.harness.findMany({
    where: { projectId, status: { not: "bye" }, lastReceivedAt: { gt: new Date(now - LIVE_FOR) } },
    select: { instance: true },
    orderBy: { instance: "asc" },
  });
  return rows.map(({ instance }) => instance);
}

/** To whom a stage offers the version. */
export function offerOf({ plan, canary }: { plan: StagedPlan; canary: string | null }, stage: number): Offer {
  const offer = stagesOf(plan)[stage]!;
  return canary === null ? offer : { ...offer, harnesses: [...offer.harnesses, canary] };
}

/** The plan of a row, which was checked when it was saved. */
export const planOf = ({ plan }: Pick<PolicyRollout, "plan">) => plan as unknown as StagedPlan;
