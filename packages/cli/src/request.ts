import { PROJECT_HEADER } from "@plimsoll/protocol/api";
import type { Connection } from "./connection.ts";
import { CliError } from "./errors.ts";
import { type ProofFailure, type ProvenServer, proveServer } from "./local-proof.ts";
import { sendRequest } from "./network/send-request.ts";

/** Servers that proved themselves, until they refuse what was agreed with them. */
const proven = new WeakMap<Connection, ProvenServer>();

/** Where a request goes, and the headers that name its sender and the project. */
export interface Credentials {
  /** Base URL without a trailing slash. */
  url: string;
  headers: Record<string, string>;
}

/**
 * With the local token, the server first proves that it can read the token too; the token itself stays here.
 * @throws CliError if another program answers in the server's place; else the error of the connection
 */
export async function credentials(connection: Connection): Promise<Credentials> {
  const { project, token, tokenSource } = connection;
  const headers: Record<string, string> =
    project === undefined ? {} : { [PROJECT_HEADER]: encodeURIComponent(project) };
  if (token === undefined) return { url: connection.url, headers };
  if (tokenSource !== "the local token file")
    return { url: connection.url, headers: { ...headers, authorization: `Bearer ${token}` } };
  const { url, authorization } = proven.get(connection) ?? (await prove(connection, token));
  return { url, headers: { ...headers, authorization } };
}

/**
 * Sends a request to the server of a connection with its credentials.
 * @param path begins with a slash
 * @throws as `credentials`, CliError for a redirect, and what `send` throws
 */
export async function request(
  connection: Connection,
  path: string,
  init: RequestInit & { headers?: Record<string, string> } = {},
  send: (url: string, init: RequestInit) => Promise<Response> = sendRequest,
): Promise<Response> {
  for (;;) {
    const known = proven.has(connection);
    const { url, headers } = await credentials(connection);
    const response = await send(url + path, { ...init, headers: { ...init.headers, ...headers } });
    const redirect = redirectRefusal(connection.url, response);
    if (redirect !== undefined) throw redirect;
    if (response.status !== 401 || !known) return response;
    // The server was restarted, and knows nothing of the last proof.
    proven.delete(connection);
    await response.body?.cancel();
  }
}

/** A redirect is not followed: it would take the key to another server, or turn a POST into a GET. */
export function redirectRefusal(url: string, { status, headers }: Response): CliError | undefined {
  const to = headers.get("location");
  if (status < 301 || status > 308 || status === 304 || to === null || !URL.canParse(to, url))
    return undefined;
  return new CliError(`${url} redirects to ${new URL(to, url).origin}.`, {
    hint: "Set that URL with --url or PLIMSOLL_URL, if you trust it.",
  });
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
