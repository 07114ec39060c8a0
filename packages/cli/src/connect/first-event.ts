import { HarnessList } from "@plimsoll/protocol/api";
import type { Client } from "../client.ts";
import { CliError } from "../errors.ts";
import { sleep } from "../sleep.ts";

/** Time between two questions to the server, ms. */
const POLL_MS = 1_000;

/** When the server last heard from each harness instance; undefined if this key may not read. */
export async function lastHeard(client: Client): Promise<HarnessList["harnesses"] | undefined> {
  try {
    return (await client.query("harnesses", {}, HarnessList)).harnesses;
  } catch (error) {
    if (error instanceof CliError && error.refusal !== undefined) return undefined;
    throw error;
  }
}

/** Whether an instance is of a family on this host, or names no host. */
export const isInstanceOf = (instance: string, family: string, host: string): boolean =>
  instance === family || instance === `${family}@${host}`;

export interface HeardHarness {
  family: string;
  instance: string;
}

/**
 * The first harness of these that the server heard from since `before`.
 * @returns undefined if the signal aborts first
 */
export async function firstEvent(
  client: Client,
  families: readonly string[],
  host: string,
  before: readonly { instance: string; last_at: string }[],
  signal: AbortSignal,
): Promise<HeardHarness | undefined> {
  const known = new Map(before.map(({ instance, last_at }) => [instance, last_at]));
  while (!signal.aborted) {
    // A server that restarts is asked again.
    const heard = await lastHeard(client).catch(() => []);
    for (const { instance, last_at } of heard ?? []) {
      const family = families.find((one) => isInstanceOf(instance, one, host));
      if (family !== undefined && known.get(instance) !== last_at) return { family, instance };
    }
    await sleep(POLL_MS, signal);
  }
  return undefined;
}
