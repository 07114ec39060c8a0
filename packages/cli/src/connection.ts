import { readFile } from "node:fs/promises";
import { homedir } from "node:os";
import { join } from "node:path";
import { PROJECT_HEADER } from "@plimsoll/protocol";
import { CliError } from "./errors.ts";

export type Env = Record<string, string | undefined>;

export interface ConnectionFlags {
  url?: string | undefined;
  key?: string | undefined;
  project?: string | undefined;
}

export interface Connection {
  /** Without a trailing slash. */
  url: string;
  token: string | undefined;
  /** Where the token came from, for messages. Never the token itself. */
  tokenSource: "--key" | "PLIMSOLL_KEY" | "local token file" | undefined;
  /** The id or name from --project; the server's default project when absent. */
  project?: string | undefined;
}

/** As root the data stand under /var/lib, as the server puts them. */
export function homeFolder(env: Env, root = process.getuid?.() === 0): string {
  const given = env.PLIMSOLL_HOME?.replace(/^~(?=$|[/\\])/, homedir());
  return given || (root ? "/var/lib/plimsoll" : join(homedir(), ".plimsoll"));
}

export function serverUrl(flags: ConnectionFlags, env: Env): string {
  const given = flags.url || env.PLIMSOLL_URL || `http://127.0.0.1:${env.PORT || "4180"}`;
  const text = /^[a-z][a-z\d+.-]*:\/\//i.test(given) ? given : `http://${given}`;
  if (!URL.canParse(text) || !/^https?:/i.test(text)) {
    throw new CliError(`${JSON.stringify(given)} is not an HTTP URL.`, {
      hint: "It should look like http://127.0.0.1:4180.",
    });
  }
  const url = new URL(text);
  return `${url.origin}${url.pathname}`.replace(/\/+$/, "");
}

/**
 * The local token grants everything on the server's own machine, so it is only ever shown to a server there: sent to
 * another host it would be given away.
 */
export function isLoopback(url: string): boolean {
  const host = new URL(url).hostname;
  return host === "localhost" || host === "[::1]" || /^127\.\d+\.\d+\.\d+$/.test(host);
}

export async function connect(flags: ConnectionFlags, env: Env): Promise<Connection> {
  const url = serverUrl(flags, env);
  const { project } = flags;
  if (flags.key) return { url, project, token: flags.key, tokenSource: "--key" };
  if (env.PLIMSOLL_KEY) return { url, project, token: env.PLIMSOLL_KEY, tokenSource: "PLIMSOLL_KEY" };
  const local = isLoopback(url) ? await readToken(join(homeFolder(env), "local-token")) : undefined;
  return { url, project, token: local, tokenSource: local === undefined ? undefined : "local token file" };
}

async function readToken(path: string): Promise<string | undefined> {
  try {
    return (await readFile(path, "utf8")).trim() || undefined;
  } catch {
    return undefined;
  }
}

/** The headers that say who asks, and about which project. */
export function authorization({ token, project }: Connection): Record<string, string> {
  return {
    ...(token === undefined ? {} : { authorization: `Bearer ${token}` }),
    ...(project === undefined ? {} : { [PROJECT_HEADER]: encodeURIComponent(project) }),
  };
}

/** What to do about an answer of 401 or 403. */
export function accessHint(connection: Connection, status: number): string {
  if (status === 403) {
    if (connection.tokenSource === "PLIMSOLL_KEY" && isLoopback(connection.url)) {
      return "PLIMSOLL_KEY holds a key that may not do this. On the server's own machine none is needed: put PLIMSOLL_KEY= before the command.";
    }
    const source = connection.tokenSource === undefined ? "" : ` from ${connection.tokenSource}`;
    return `The key${source} lacks the scope this needs. Create one with: plimsoll key create --scope …`;
  }
  if (connection.token === undefined) {
    return "Give a key with --key or PLIMSOLL_KEY; on the server's own machine its token file is used by itself.";
  }
  return `The token came from ${connection.tokenSource}; it may be revoked, mistyped or another server's.`;
}
