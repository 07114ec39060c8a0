import type { ClientRequest, IncomingMessage, RequestOptions } from "node:http";
import { Readable } from "node:stream";
import { pipeline } from "node:stream/promises";
import { BackupError } from "@plimsoll/protocol/backup";
import { z } from "zod";
import { accessHint, type Connection } from "../connection.ts";
import { CliError } from "../errors.ts";
import { wayTo } from "../network/proxy.ts";
import { unreachable } from "../network/unreachable.ts";
import { credentials } from "../request.ts";

/** Thrown if the connection ends before the answer does. */
export class Interrupted extends Error {}

/**
 * Begins to receive an answer, however long it is.
 * @throws CliError if the server cannot be reached or refuses
 */
export async function receive(
  connection: Connection,
  path: string,
  signal: AbortSignal,
): Promise<AsyncIterable<Uint8Array>> {
  const outgoing = await open(connection, path, { method: "GET", signal });
  outgoing.end();
  const answer = await answered(outgoing, connection);
  if (answer.statusCode !== 200) throw refusal(connection, path, answer.statusCode, await textOf(answer));
  return whole(answer);
}

/**
 * Sends a body, however long it is, and returns the answer's text. Stops sending once the server has answered.
 * @throws CliError if the server cannot be reached or refuses, Interrupted if the connection is lost, errors of `body`
 */
export async function send(
  connection: Connection,
  path: string,
  body: AsyncIterable<Uint8Array>,
  signal: AbortSignal,
): Promise<string> {
  const headers = { "content-type": "application/octet-stream" };
  const outgoing = await open(connection, path, { method: "POST", headers, signal });
  const answer = answered(outgoing, connection, true);
  // Its failure is that of the request.
  pipeline(Readable.from(body), outgoing).catch(() => {});
  const incoming = await answer;
  const text = await textOf(incoming);
  outgoing.destroy();
  if (incoming.statusCode !== 200) throw refusal(connection, path, incoming.statusCode, text);
  return text;
}

async function open(connection: Connection, path: string, options: RequestOptions) {
  const sender = await credentials(connection).catch((error: unknown) => {
    throw error instanceof CliError ? error : unreachable(connection, error);
  });
  const url = new URL(`${sender.url}${path}`);
  const { request, ...way } = wayTo(url);
  return request(url, { ...way, ...options, headers: { ...options.headers, ...sender.headers } });
}

function answered(outgoing: ClientRequest, connection: Connection, begun = false): Promise<IncomingMessage> {
  return new Promise((resolve, reject) => {
    outgoing.on("response", resolve);
    outgoing.on("error", (error: NodeJS.ErrnoException) => {
      const ours = error instanceof CliError || error instanceof BackupError || error.name === "AbortError";
      const lost = begun && (error.code === "ECONNRESET" || error.code === "EPIPE");
      if (ours || isFileError(error)) reject(error);
      else if (lost) reject(new Interrupted("the connection was lost", { cause: error }));
      else reject(unreachable(connection, error));
    });
  });
}

/** An error of the file that is being sent, not of the connection. */
const isFileError = ({ syscall }: NodeJS.ErrnoException) => syscall === "read" || syscall === "open";

/** Yields an answer to its end. An answer that breaks off is an error, not an end. */
async function* whole(incoming: IncomingMessage): AsyncGenerator<Uint8Array> {
  try {
    for await (const bytes of incoming) yield bytes as Uint8Array;
  } catch (cause) {
    throw (cause as Error).name === "AbortError"
      ? cause
      : new Interrupted("the connection was lost", { cause });
  }
}

async function textOf(incoming: IncomingMessage): Promise<string> {
  const parts: Uint8Array[] = [];
  for await (const part of incoming) parts.push(part as Uint8Array);
  return Buffer.concat(parts).toString();
}

const ErrorAnswer = z.object({ error: z.object({ code: z.string(), message: z.string() }) });

function refusal(connection: Connection, path: string, status = 0, text: string): CliError {
  let body: unknown;
  try {
    body = JSON.parse(text);
  } catch {
    body = undefined;
  }
  const { error } = ErrorAnswer.safeParse(body).data ?? {};
  if (error === undefined || error.code === "not_found") {
    return new CliError(`${connection.url} answered HTTP ${status} to ${path}.`, {
      hint: "Check that this is a Plimsoll server of the same version.",
    });
  }
  const denied = (status === 401 || status === 403) && error.code !== "wrong_project";
  return new CliError(error.message, denied ? { hint: accessHint(connection, status) } : {});
}
