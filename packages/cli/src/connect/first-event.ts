import { HarnessList, IngestReceipts } from "@plimsoll/protocol/api";
import { type Client, createClient } from "../client.ts";
import { CliError } from "../errors.ts";
import { sleep } from "../sleep.ts";

/** Time between two questions to the server, ms. */
const POLL_MS = 1_000;

/** The harness instances with the time of their latest event; undefined if this key may not read. */
export async function lastEvents(client: Client): Promise<HarnessList["harnesses"] | undefined> {
  try {
    return (await client.query("harnesses", {}, HarnessList)).harnesses;
  } catch (error) {
    if (error instanceof CliError && error.refusal !== undefined) return undefined;
    throw error;
  }
}

/** What arrived with an ingest key, which may read nothing else; undefined from a server that does not tell. */
export async function receiptsOf(url: string, key: string): Promise<IngestReceipts | undefined> {
  const client = createClient({ url, token: key, tokenSource: "--key" });
  return client.query("ingest.received", {}, IngestReceipts).catch((error: unknown) => {
    if (error instanceof CliError) return undefined;
    throw error;
  });
}

/** Whether an instance is of a family on this host, or names no host. */
export const isInstanceOf = (instance: string, family: string, host: string): boolean =>
  instance === family || instance === `${family}@${host}`;

export interface ReportingHarness {
  family: string;
  instance: string;
}

/**
 * The first harness of these that sent an event since `before`.
 * @returns undefined if the signal aborts first
 */
export async function firstEvent(
  client: Client,
  families: readonly string[],
  host: string,
  before: readonly { instance: string; last_at: string }[],
  signal: AbortSignal,
): Promise<ReportingHarness | undefined> {
  const known = new Map(before.map(({ instance, last_at }) => [instance, last_at]));
  while (!signal.aborted) {
    // A server that restarts is asked again.
    const reporting = await lastEvents(client).catch(() => []);
    for (const { instance, last_at } of reporting ?? []) {
      const family = families.find((one) => isInstanceOf(instance, one, host));
      if (family !== undefined && known.get(instance) !== last_at) return { family, instance };
    }
    await sleep(POLL_MS, signal);
  }
  return undefined;
}

/**
 * Waits for the first request with an ingest key since `before`.
 * @returns undefined if the signal aborts first
 */
export async function firstReceipt(
  url: string,
  key: string,
  before: IngestReceipts,
  signal: AbortSignal,
): Promise<IngestReceipts | undefined> {
  while (!signal.aborted) {
    const now = await receiptsOf(url, key);
    if (now !== undefined && (now.accepted !== before.accepted || now.rejected !== before.rejected))
      return now;
    await sleep(POLL_MS, signal);
  }
  return undefined;
}
