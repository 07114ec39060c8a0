import type { ConvergenceState } from "@plimsoll/protocol/api";
import { convergenceOf } from "@plimsoll/protocol/policy";
import { queriesOf } from "../db/sql.ts";
import { readAcknowledgements, saidIn } from "../lines/acknowledgements.ts";
import type { Reader } from "../lines/reader.ts";
import { LIVE_FOR } from "../read/liveness.ts";
import { knownModels } from "./read-harnesses.ts";

/** How far a harness instance is with the policy that it is offered. */
export interface HarnessPolicyState {
  harness: string;
  state: ConvergenceState;
}

/** Instances in one answer. */
const MOST_HARNESSES = 500;

/** The policy states of the harnesses that are online, those heard from last first. */
export async function readPolicyStates(reader: Reader): Promise<HarnessPolicyState[]> {
  const { prisma, projectId, policy, now } = reader;
  const harnesses = await prisma.harness.findMany({
    where: {
      projectId,
      deletedAt: null,
      status: { not: "bye" },
      lastReceivedAt: { gt: new Date(now - LIVE_FOR) },
    },
    orderBy: [{ lastReceivedAt: "desc" }, { id: "asc" }],
    take: MOST_HARNESSES,
    select: { instance: true, capabilities: true },
  });
  const instances = harnesses.map(({ instance }) => instance);
  const [acks, models] = await Promise.all([
    readAcknowledgements(queriesOf(reader), projectId, instances),
    knownModels(prisma, projectId),
  ]);
  return harnesses.map(({ instance, capabilities }) => ({
    harness: instance,
    state: convergenceOf(policy.answerFor(instance, undefined), saidIn(acks.get(instance)!), {
      capabilities,
      isKnown: (of, claimed) => policy.hasHash(of, claimed, instance, models),
    }),
  }));
}
