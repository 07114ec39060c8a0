import { CreatedKey, KeyView } from "@plimsoll/protocol";
import type { Client } from "../client.ts";
import { unreachable } from "../client.ts";
import { CliError } from "../errors.ts";

/** Longest wait for the answer to an empty request, ms. */
const PROBE_MS = 10_000;

/**
 * Whether a server takes telemetry with a key. Sends an empty request, which stores nothing.
 * @throws CliError if the server cannot be reached or does not take OTLP
 */
export async function isKeyAccepted(url: string, key: string): Promise<boolean> {
  let status: number;
  try {
    const response = await fetch(`${url}/otlp/v1/logs`, {
      method: "POST",
      headers: { "content-type": "application/json", "x-api-key": key },
      body: "{}",
      signal: AbortSignal.timeout(PROBE_MS),
      redirect: "manual",
    });
    status = response.status;
    await response.body?.cancel();
  } catch (error) {
    throw unreachable({ url }, error);
  }
  if (status === 401 || status === 403) return false;
  // A server that is busy has accepted the key.
  if (status === 200 || status === 429 || status === 503) return true;
  throw new CliError(`${url}/otlp/v1/logs answered HTTP ${status}.`, {
    hint: "Check that this is a Plimsoll server of the same version.",
  });
}

export const makeKey = (client: Client, name: string): Promise<CreatedKey> =>
  client.mutate("keys.create", { name, scopes: ["ingest"] }, CreatedKey);

/** Revokes a key that nothing uses any more. @returns whether the server did */
export async function dropKey(client: Client, id: string): Promise<boolean> {
  try {
    await client.mutate("keys.revoke", { id }, KeyView);
    return true;
  } catch (error) {
    if (error instanceof CliError) return false;
    throw error;
  }
}
