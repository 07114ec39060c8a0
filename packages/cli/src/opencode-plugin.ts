import { type ChildProcessByStdio, spawn } from "node:child_process";
import { createInterface } from "node:readline";
import type { Readable, Writable } from "node:stream";

/**
 * A plugin of opencode, whose calls of MCP tools do not name their session. It offers the tools of `plimsoll mcp` itself, as opencode
 * tells a plugin whose call it is, and passes them on with the session and its messages, which no file has. A file of its own: opencode
 * loads it, and it imports nothing of Plimsoll.
 */

/** `plimsoll mcp --plugin opencode` writes this before the file. */
declare const PLIMSOLL: PluginSettings;

export interface PluginSettings {
  /** What starts `plimsoll mcp`. */
  command: [string, ...string[]];
  tools: Record<string, { description: string; schema: object }>;
}

interface StoredMessage {
  info: { id: string; role: string; [key: string]: unknown };
  parts: { type: string; [key: string]: unknown }[];
}

/** As much of opencode 1.18's interface for plugins as is used. */
interface PluginInput {
  directory: string;
  client: {
    session: {
      get(asked: { path: { id: string } }): Promise<{ data?: { parentID?: string } }>;
      messages(asked: {
        path: { id: string };
        query?: { limit: number };
      }): Promise<{ data?: StoredMessage[] }>;
    };
  };
}

/** An event of opencode, and what its hook before a call of the model is given. */
interface PluginEvent {
  type: string;
  properties: {
    sessionID?: string;
    partID?: string;
    field?: string;
    delta?: string;
    part?: { id: string; time?: { end?: number } };
  };
}
interface ModelParams {
  model: { id: string; providerID: string; limit?: { context?: number } };
}

/** Messages that each call passes on again, because the latest may have changed since the call before. */
const LATEST = 16;
/** Most bytes of a session that a call passes on, and how many of them only counts may use, which are worth more than texts. */
const MOST_BYTES = 6_000_000;
const KEPT_BYTES = 2_000_000;
const DEEPEST = 8;
const PATIENCE_MS = 10_000;
const AWAY = JSON.stringify({
  refused: "unavailable",
  hint: "plimsoll mcp cannot be started, or does not answer.",
});

export const Plimsoll = async ({ client, directory }: PluginInput) => {
  /** Of a session that the server knows: its latest message, and the rows of it and its parents. */
  const told = new Map<string, { latest: string; parents: string[] }>();
  /** By part: text that streams, which opencode stores only when the answer is whole. */
  const growing: Growing = new Map();
  /** Tokens, by `provider/model`. */
  const windows = new Map<string, number>();
  let server: ReturnType<typeof startServer> | undefined;

  const messagesOf = async (id: string, limit?: number) =>
    (await client.session.messages({ path: { id }, ...(limit && { query: { limit } }) })).data ?? [];

  /** The session, and those that it is a sub-agent of. */
  async function parentsOf(session: string): Promise<string[]> {
    const rows: string[] = [];
    for (let id: string | undefined = session; id !== undefined && rows.length < DEEPEST; ) {
      const row: { parentID?: string } = (await client.session.get({ path: { id } })).data ?? {};
      rows.push(JSON.stringify(row));
      id = row.parentID;
    }
    return rows;
  }

  async function ask(name: string, given: object, session: string): Promise<string> {
    const known = told.get(session);
    let messages = await messagesOf(session, known === undefined ? undefined : LATEST);
    if (known !== undefined && !messages.some(({ info }) => info.id === known.latest))
      messages = await messagesOf(session);
    const parents = known?.parents ?? (await parentsOf(session));
    server ??= startServer(directory, () => {
      server = undefined;
      told.clear();
    });
    const latest = messages.at(-1)?.info.id;
    if (latest !== undefined) told.set(session, { latest, parents });
    const meta = {
      "plimsoll/opencode": {
        session,
        isWhole: known === undefined,
        rows: [...parents, ...rowsOf(messages, growing, windows)],
      },
    };
    return server.call(name, given, meta);
  }

  const execute = (name: string) => async (given: object, context: { sessionID: string }) => {
    try {
      const { sessionID } = context;
      const answer = await ask(name, given, sessionID);
      if (!answer.startsWith('{"refused":"call_again"')) return answer;
      // The server was started since, or forgot the session.
      told.delete(sessionID);
      return await ask(name, given, sessionID);
    } catch {
      return AWAY;
    }
  };

  return {
    tool: Object.fromEntries(
      Object.entries(PLIMSOLL.tools).map(([name, { description }]) => [
        `plimsoll_${name}`,
        { description, args: {}, execute: execute(name) },
      ]),
    ),
    event: async ({ event: { type, properties } }: { event: PluginEvent }) => {
      const { sessionID, partID, field, delta, part } = properties ?? {};
      if (type === "message.part.delta" && field === "text" && partID !== undefined && delta !== undefined)
        growing.set(partID, { sessionID, text: (growing.get(partID)?.text ?? "") + delta });
      else if (type === "message.part.updated" && part?.time?.end !== undefined) growing.delete(part.id);
      else if (type === "session.idle")
        for (const [id, one] of growing) if (one.sessionID === sessionID) growing.delete(id);
    },
    "chat.params": async ({ model }: ModelParams) => {
      if (model.limit?.context) windows.set(`${model.providerID}/${model.id}`, model.limit.context);
    },
    dispose: async () => server?.stop(),
    // The schema that opencode makes of `args` has no optional argument.
    "tool.definition": async ({ toolID }: { toolID: string }, output: { jsonSchema?: object }) => {
      const tool = toolID.startsWith("plimsoll_") && PLIMSOLL.tools[toolID.slice("plimsoll_".length)];
      if (tool) output.jsonSchema = tool.schema;
    },
  };
};

type Growing = Map<string, { sessionID: string | undefined; text: string }>;

/** The latest messages and their parts, as opencode stores them, without what takes room and tells nothing. */
function rowsOf(
  messages: readonly StoredMessage[],
  growing: Growing,
  windows: ReadonlyMap<string, number>,
): string[] {
  const rows: string[] = [];
  let room = MOST_BYTES;
  const add = (row: object | undefined, kept: number) => {
    const text = row === undefined ? "" : JSON.stringify(row);
    const bytes = Buffer.byteLength(text);
    if (text === "" || bytes > room - kept) return;
    room -= bytes;
    rows.push(text);
  };
  for (const { info, parts } of [...messages].reverse()) {
    const { summary, ...counts } = info;
    // The summary of a prompt is a list of whole diffs.
    const row = summary === true ? info : counts;
    add({ ...row, contextLimit: windows.get(`${info.providerID}/${info.modelID}`) }, 0);
    for (const part of parts) add(slim(part, growing), KEPT_BYTES);
  }
  return rows;
}

function slim(part: StoredMessage["parts"][number], growing: Growing): object | undefined {
  if (part.type === "text") return { ...part, text: part.text || growing.get(String(part.id))?.text };
  if (part.type === "compaction") return part;
  if (part.type !== "tool") return undefined;
  const { metadata, attachments: _, ...state } = part.state as Record<string, unknown>;
  const { exit } = (metadata ?? {}) as { exit?: unknown };
  return { ...part, metadata: undefined, state: { ...state, metadata: { exit } } };
}

interface Reply {
  result?: { content?: { text?: string }[] };
}

/** A client of `plimsoll mcp`, which it starts. */
function startServer(folder: string, onEnd: () => void) {
  const [program, ...words] = PLIMSOLL.command;
  const child: ChildProcessByStdio<Writable, Readable, null> = spawn(program, words, {
    cwd: folder,
    stdio: ["pipe", "pipe", "ignore"],
  });
  const waiting = new Map<number, (reply: Reply) => void>();
  let asked = 0;
  const end = () => {
    for (const answer of waiting.values()) answer({});
    waiting.clear();
    onEnd();
  };
  child.once("error", end).once("exit", end);
  child.stdin.on("error", () => {});
  createInterface({ input: child.stdout }).on("line", (line) => {
    try {
      const reply = JSON.parse(line);
      waiting.get(reply.id)?.(reply);
    } catch {
      // Not a message of the protocol.
    }
  });
  const send = (message: object) => child.stdin.write(`${JSON.stringify({ jsonrpc: "2.0", ...message })}\n`);
  const request = (method: string, params: object) =>
    new Promise<Reply>((resolve) => {
      asked += 1;
      const id = asked;
      const timer = setTimeout(() => answer({}), PATIENCE_MS);
      const answer = (reply: Reply) => {
        clearTimeout(timer);
        waiting.delete(id);
        resolve(reply);
      };
      waiting.set(id, answer);
      send({ id, method, params });
    });
  void request("initialize", {
    protocolVersion: "2025-06-18",
    capabilities: {},
    clientInfo: { name: "opencode", version: "1" },
  });
  send({ method: "notifications/initialized" });
  return {
    stop: () => child.stdin.end(),
    async call(name: string, given: object, meta: object): Promise<string> {
      const { result } = await request("tools/call", { name, arguments: given, _meta: meta });
      return result?.content?.[0]?.text ?? AWAY;
    },
  };
}
