import { PROJECT_HEADER } from "@plimsoll/protocol";
import type { Connection } from "./connection.ts";
import { CliError } from "./errors.ts";
import { type ProofFailure, type ProvenServer, proveServer } from "./local-proof.ts";

/** Servers that proved themselves, until they refuse what was agreed with them. */
const proven = new WeakMap<Connection, ProvenServer>();

/**
 * Sends a request to the server of a connection, with its key. With the local token, the server first proves that it
 * can read the token too; the token itself stays here.
 * @param path begins with a slash
 * @throws CliError if another program answers in the server's place; else what `send` throws
 */
export async function request(
  connection: Connection,
  path: string,
  init: RequestInit & { headers?: Record<string, string> } = {},
  send: (url: string, init: RequestInit) => Promise<Response> = fetch,
): Promise<Response> {
  const headers = {
    ...init.headers,
    ...(connection.project === undefined ? {} : { [PROJECT_HEADER]: encodeURIComponent(connection.project) }),
  };
  const { token } = connection;
  if (token === undefined) return send(connection.url + path, { ...init, headers });
  if (connection.tokenSource !== "the local token file")
    return send(connection.url + path, {
      ...init,
      headers: { ...headers, authorization: `Bearer ${token}` },
    });
  for (;;) {
    const known = proven.get(connection);
    const server = known ?? (await prove(connection, token));
    const { url, authorization } = server;
    const response = await send(url + path, { ...init, headers: { ...headers, authorization } });
    if (response.status !== 401 || known === undefined) return response;
    // It was restarted, and knows nothing of the last agreement.
    proven.delete(connection);
    await response.body?.cancel();
  }
}

async function prove(connection: Connection, token: string): Promise<ProvenServer> {
  const outcome = await proveServer(connection.url, token);
  if (typeof outcome === "string") throw notOurServer(connection, outcome);
  proven.set(connection, outcome);
  return outcome;
}

const HINTS: Record<ProofFailure, string> = {
  not_proven:
    "Set PLIMSOLL_HOME to the data directory of that server and use the port that it listens on, or use a key: --key or PLIMSOLL_KEY.",
  no_proof:
    "It may be another program, or an older Plimsoll. Restart the server with this version, set another URL with --url or PLIMSOLL_URL, or use a key: --key or PLIMSOLL_KEY.",
};

function notOurServer({ url }: Connection, failure: ProofFailure): CliError {
  return new CliError(
    `Something answers at ${url}, but it is not the server that this command's local token belongs to. The token was not sent.`,
    { hint: HINTS[failure] },
  );
}
