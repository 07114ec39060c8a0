import { CreatedKey, ErrorBody, KeyView } from "@plimsoll/protocol/api";
import { z } from "zod";
import { type Client, createClient } from "../client.ts";
import type { CommandContext } from "../command-context.ts";
import { connect } from "../connection.ts";
import { CliError } from "../errors.ts";
import { sendRequest } from "../network/send-request.ts";
import { unreachable } from "../network/unreachable.ts";
import type { ConnectionRecord } from "./record.ts";

/** Longest wait for the answer to an empty request, ms. */
const PROBE_MS = 10_000;

/** Errors of OTLP and of the API hold a message for a person. */
const Said = z.union([
  z.object({ message: z.string() }),
  ErrorBody.transform(({ error }) => ({ message: error.message })),
]);

/**
 * Whether a server takes telemetry with a key. Sends an empty request, which stores nothing.
 * @returns what the server says against the key; undefined if it takes it
 * @throws CliError with the server's own message if it does not take OTLP, or cannot be reached
 */
export async function keyRefusal(url: string, key: string): Promise<string | undefined> {
  let status: number;
  let said: string | undefined;
  try {
    const response = await sendRequest(`${url}/otlp/v1/logs`, {
      method: "POST",
      headers: { "content-type": "application/json", "x-api-key": key },
      body: "{}",
      signal: AbortSignal.timeout(PROBE_MS),
    });
    status = response.status;
    said = Said.safeParse(parsed(await response.text())).data?.message;
  } catch (error) {
    throw unreachable({ url }, error);
  }
  // A server that is busy has accepted the key.
  if ((status === 200 && said === undefined) || status === 429 || status === 503) return undefined;
  if (status === 401 || status === 403) return said ?? `HTTP ${status}.`;
  throw new CliError(
    said === undefined ? `${url}/otlp/v1/logs answered HTTP ${status}.` : `${url} answered: ${said}`,
    {
      hint:
        status === 404
          ? "This server does not take OpenTelemetry data. It is older than this command, or no Plimsoll server."
          : "Check that this is a Plimsoll server of the same version.",
    },
  );
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

/** The server and the project of a connection. */
export const clientOf = async (
  { url, project }: Pick<ConnectionRecord, "url" | "project">,
  { env }: CommandContext,
): Promise<Client> => createClient(await connect({ url, project: project ?? undefined }, env));

/** @throws CliError if this user may not make keys */
export async function makeKey(client: Client, name: string): Promise<CreatedKey> {
  try {
    return await client.mutate("keys.create", { name, scopes: ["ingest"] }, CreatedKey);
  } catch (error) {
    if (!(error instanceof CliError) || error.refusal !== "forbidden") throw error;
    throw new CliError(error.message, {
      hint: "Have an administrator create a key with the scope ingest, and pass it as PLIMSOLL_INGEST_KEY.",
      cause: error,
    });
  }
}

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
