import { type Offer, offerOfStage, type StagedPlan } from "@plimsoll/protocol/policy";
import type { Transaction } from "../db/client.ts";
import type { PolicyRollout } from "../db/generated/client.ts";
import { LIVE_FOR } from "../read/liveness.ts";
import { DAY_MS } from "../times.ts";

/** A harness that was not heard from for this many milliseconds is no longer waited for. */
const KNOWN_FOR = 7 * DAY_MS;
/** Harnesses that a rollout considers: those heard from last. */
const MOST_KNOWN = 10_000;

export interface NewRollout {
  projectId: number;
  generation: number;
  plan: StagedPlan;
  /** Of its first step. */
  revision: number;
  now: Date;
}

/**
 * Begins a rollout in stages.
 * @returns to whom the first stage offers the version
 */
export async function beginRollout(
  tx: Pick<Transaction, "policyRollout" | "harness">,
  { now, ...rollout }: NewRollout,
): Promise<Offer> {
  const { projectId, generation, plan } = rollout;
  const live = liveOf(await knownHarnesses(tx, projectId, now.getTime()));
  await tx.policyRollout.create({
    data: { ...rollout, state: "running", stage: 0, since: now, forgiven: [] },
  });
  return offerOfStage(plan, { generation, stage: 0, before: undefined, live });
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

export interface KnownHarness {
  instance: string;
  isLive: boolean;
}

/** Instances heard from in the last days; `now` in epoch ms. */
export async function knownHarnesses(
  client: Pick<Transaction, "harness">,
  projectId: number,
  now: number,
): Promise<KnownHarness[]> {
  const rows = await client.harness.findMany({
    where: { projectId, deletedAt: null, lastReceivedAt: { gt: new Date(now - KNOWN_FOR) } },
    select: { instance: true, status: true, lastReceivedAt: true },
    orderBy: [{ lastReceivedAt: "desc" }, { id: "asc" }],
    take: MOST_KNOWN,
  });
  return rows.map(({ instance, status, lastReceivedAt }) => ({
    instance,
    isLive: status !== "bye" && lastReceivedAt.getTime() > now - LIVE_FOR,
  }));
}

export const liveOf = (known: readonly KnownHarness[]): string[] =>
  known.filter(({ isLive }) => isLive).map(({ instance }) => instance);

/** The plan of a row, which was checked when it was saved. */
export const planOf = ({ plan }: Pick<PolicyRollout, "plan">) => plan as unknown as StagedPlan;
