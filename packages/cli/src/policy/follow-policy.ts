import type { PolicyAnswer } from "@plimsoll/protocol/api";
import type { PolicyReader } from "../../../guard/src/policy-source/fetch-policy.ts";
import { Subscription, type Taken } from "../../../guard/src/policy-source/subscription.ts";
import type { Connection } from "../connection.ts";
import { CliError } from "../errors.ts";
import { SILENT_MS } from "../live-stream.ts";
import { accessTo, policyIn } from "./fetch-policy.ts";

export interface FollowPolicyOptions {
  signal: AbortSignal;
  /** Called with the first policy, and with each new generation or content. Not called again until it has finished. */
  onPolicy: (policy: PolicyAnswer) => Promise<void>;
  /** Called with each failure; the last policy stays. */
  onTrouble: (message: string) => void;
}

/**
 * Follows the policy of a harness until the signal aborts, as the guard does. Failures are retried without limit, also those of a
 * key, because a key can be given its scope later.
 * @throws what `onPolicy` throws
 */
export function followPolicy(
  connection: Connection,
  subject: PolicyReader,
  { signal, onPolicy, onTrouble }: FollowPolicyOptions,
): Promise<void> {
  let last: PolicyAnswer | undefined;
  return new Promise((resolve, reject) => {
    const subscription = new Subscription({
      ...subject,
      access: accessTo(connection),
      pollMs: 30_000,
      retryMs: 1_000,
      refusedMs: 60_000,
      silentMs: SILENT_MS,
      random: Math.random,
      tag: () => last?.hash,
      take: async (fetched): Promise<Taken> => {
        if (fetched.kind === "unchanged")
          return fetched.newest === undefined || fetched.newest === last?.generation ? "taken" : "needs_body";
        try {
          const policy = await policyIn(fetched, connection);
          if (isNew(policy, last)) await onPolicy(policy);
          last = policy;
          return "taken";
        } catch (error) {
          if (error instanceof CliError) onTrouble(error.message);
          else end(() => reject(error));
          return "no_policy";
        }
      },
    });
    const end = (settle: () => void) => {
      signal.removeEventListener("abort", onAbort);
      subscription.stop();
      settle();
    };
    const onAbort = () => end(resolve);
    signal.addEventListener("abort", onAbort);
    if (signal.aborted) onAbort();
    else subscription.start();
  });
}

const isNew = (policy: PolicyAnswer, last: PolicyAnswer | undefined) =>
  last === undefined || policy.generation !== last.generation || policy.hash !== last.hash;
