import { asArray, asNumber, asObject, asText, type JsonObject } from "@plimsoll/harnesses/recordings";

/** Longest time for one answer of the server, ms. */
const TIMEOUT_MS = 30_000;

/** A server of opencode or Kilo. */
export interface OpencodeServer {
  /** @throws if the server cannot be reached or refuses the request */
  read(path: string): Promise<unknown>;
  /** Opens its stream of events. */
  open(init: { headers: Record<string, string>; signal: AbortSignal }): Promise<Response>;
}

/**
 * @param url base URL, which may hold a user and a password
 * @param password of OPENCODE_SERVER_PASSWORD
 */
export function opencodeServer(url: string, password: string | undefined): OpencodeServer {
  const address = new URL(url);
  const user = decodeURIComponent(address.username) || "opencode";
  const secret = decodeURIComponent(address.password) || password;
  const base = `${address.origin}${address.pathname}`.replace(/\/+$/, "");
  const own: Record<string, string> =
    secret === undefined
      ? {}
      : { authorization: `Basic ${Buffer.from(`${user}:${secret}`).toString("base64")}` };
  return {
    async read(path) {
      const response = await fetch(base + path, { headers: own, signal: AbortSignal.timeout(TIMEOUT_MS) });
      if (response.ok) return response.json();
      await response.body?.cancel();
      throw new Error(`${base}${path.split("?", 1)[0]} answered HTTP ${response.status}.`);
    },
    open: ({ headers, signal }) => fetch(`${base}/global/event`, { headers: { ...headers, ...own }, signal }),
  };
}

/** A session in a list of the server. `updatedAt` in epoch ms. */
export interface ListedSession {
  id: string;
  updatedAt: number;
  info: JsonObject;
}

/** Sessions of one folder at a time; a server has several. */
const MOST_SESSIONS = 1_000;

/** The sessions of every folder that the server knows, the latest first. */
export async function listSessions(server: OpencodeServer): Promise<ListedSession[]> {
  const projects = objects(await server.read("/project"));
  const folders = projects.flatMap(({ worktree }) => asText(worktree) ?? []);
  const found = new Map<string, ListedSession>();
  for (const query of ["", ...folders.map((folder) => `&directory=${encodeURIComponent(folder)}`)]) {
    for (const info of objects(await server.read(`/session?limit=${MOST_SESSIONS}${query}`))) {
      const id = asText(info.id);
      if (id !== undefined)
        found.set(id, { id, info, updatedAt: asNumber(asObject(info.time)?.updated) ?? 0 });
    }
  }
  return [...found.values()].sort((one, other) => other.updatedAt - one.updatedAt);
}

/** The messages of a session and their parts. */
export async function readMessages(
  server: OpencodeServer,
  session: string,
): Promise<{ infos: JsonObject[]; parts: JsonObject[] }> {
  const messages = objects(await server.read(`/session/${encodeURIComponent(session)}/message`));
  return {
    infos: objects(messages.map(({ info }) => info)),
    parts: messages.flatMap(({ parts }) => objects(parts)),
  };
}

const objects = (value: unknown): JsonObject[] =>
  asArray(value)
    .map(asObject)
    .filter((item) => item !== undefined);

/** Window sizes in tokens, by provider and model. */
export async function readWindows(server: OpencodeServer): Promise<ReadonlyMap<string, number>> {
  const windows = new Map<string, number>();
  for (const provider of objects(asObject(await server.read("/config/providers"))?.providers)) {
    for (const [model, facts] of Object.entries(asObject(provider.models) ?? {})) {
      const window = asNumber(asObject(asObject(facts)?.limit)?.context);
      if (window !== undefined && window > 0) windows.set(`${asText(provider.id)}/${model}`, window);
    }
  }
  return windows;
}
