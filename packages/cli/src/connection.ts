import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { isBlockedPort } from "@plimsoll/protocol/pure";
import { CliError } from "./errors.ts";
import { type Env, homeFolder } from "./home-folder.ts";
import { readLogin } from "./login/stored-login.ts";

export interface ConnectionFlags {
  url?: string | undefined;
  key?: string | undefined;
  project?: string | undefined;
}

export interface Connection {
  /** Base URL without a trailing slash. */
  url: string;
  token: string | undefined;
  /** Names the source of the token in messages. Never holds the token itself. */
  tokenSource: "--key" | "PLIMSOLL_KEY" | "plimsoll login" | "the local token file" | undefined;
  /** The key for harnesses that came with `plimsoll login`. */
  ingestKey?: string;
  /** Id or name from --project. The server uses its default project if absent. */
  project?: string | undefined;
}

/** @param login the server that this machine is logged in at */
export function serverUrl(flags: ConnectionFlags, env: Env, login?: string): string {
  const given = flags.url || env.PLIMSOLL_URL || login || `http://127.0.0.1:${env.PORT || "4180"}`;
  const text = /^[a-z][a-z\d+.-]*:\/\//i.test(given) ? given : `http://${given}`;
  if (!URL.canParse(text) || !/^https?:/i.test(text)) {
    throw new CliError(`${JSON.stringify(given)} is not an HTTP URL.`, {
      hint: "Use a URL like http://127.0.0.1:4180.",
    });
  }
  const url = new URL(text);
  if (isBlockedPort(Number(url.port))) {
    throw new CliError(`Browsers block port ${url.port}, so no Plimsoll listens there.`, {
      hint: "Use the port that the server prints when it starts. Another protocol uses this one.",
    });
  }
  return `${url.origin}${url.pathname}`.replace(/\/+$/, "");
}

/** True if the URL is on this machine. Only there can a server prove that it shares the local token. */
export function isLoopback(url: string): boolean {
  const host = new URL(url).hostname;
  return host === "localhost" || host === "[::1]" || /^127\.\d+\.\d+\.\d+$/.test(host);
}

export async function connect(flags: ConnectionFlags, env: Env): Promise<Connection> {
  const login = await readLogin(homeFolder(env));
  const url = serverUrl(flags, env, login?.url);
  const { project } = flags;
  if (flags.key) return { url, project, token: flags.key, tokenSource: "--key" };
  if (env.PLIMSOLL_KEY) return { url, project, token: env.PLIMSOLL_KEY, tokenSource: "PLIMSOLL_KEY" };
  if (login?.url === url) {
    const { key, ingest_key } = login;
    return { url, project, token: key.secret, tokenSource: "plimsoll login", ingestKey: ingest_key.secret };
  }
  const local =
    isLoopback(url) && url.startsWith("http:")
      ? await readToken(join(homeFolder(env), "local-token"))
      : undefined;
  return {
    url,
    project,
    token: local,
    tokenSource: local === undefined ? undefined : "the local token file",
  };
}

async function readToken(path: string): Promise<string | undefined> {
  try {
    return (await readFile(path, "utf8")).trim() || undefined;
  } catch {
    return undefined;
  }
}

/** The remedy for a 401 or 403 answer. */
export function accessHint(connection: Connection, status: number): string {
  if (status === 403) {
    if (connection.tokenSource === "PLIMSOLL_KEY" && isLoopback(connection.url)) {
      return "The key in PLIMSOLL_KEY lacks the required scope. On the server's machine no key is needed: put PLIMSOLL_KEY= before the command.";
    }
    const source = connection.tokenSource === undefined ? "" : ` from ${connection.tokenSource}`;
    return `The key${source} lacks the required scope. Create one with: npx plimsoll key create --scope …`;
  }
  if (connection.token === undefined) {
    return "Log this machine in with npx plimsoll login <url>, or set a key with --key or PLIMSOLL_KEY. On the server's machine, the token file is used automatically.";
  }
  if (connection.tokenSource === "plimsoll login")
    return `The key of this machine may be revoked. Log in again: npx plimsoll login ${connection.url}`;
  return `The token came from ${connection.tokenSource}. It may be revoked, mistyped or from another server.`;
}
