import { McpServer, ResourceNotFoundError, ResourceTemplate } from "@modelcontextprotocol/server";
import {
  type AgentLevel,
  type Beside,
  droppedAnswer,
  fillsAnswer,
  fitAnswer,
  headroomAnswer,
  refused,
  resultOf,
  TOOLS,
  type ToolAnswer,
} from "@plimsoll/harnesses/agent-tools";
import type { Places } from "@plimsoll/harnesses/bridge";
import { contentsTree, largestItems } from "@plimsoll/harnesses/recordings";
import { VERSION } from "../version.ts";
import { agentLine, settingsLine } from "./agent-line.ts";
import { keepNote, LONGEST_NOTE, MOST_CHARACTERS, readNote } from "./note-file.ts";
import { checkpointEvent, type NoteReports } from "./note-reports.ts";
import type { ServerLines } from "./server-line.ts";
import type { BoundSession, Sessions } from "./sessions.ts";
import { type Size, sizeOfFile, sizeOfTool } from "./size-of.ts";

export interface McpOptions {
  sessions: Sessions;
  lines: ServerLines;
  reports: NoteReports;
  /** Name of this machine in events. */
  machine: string;
  places: Places;
  /** Data folder of Plimsoll, which keeps the notes. */
  home: string;
  now: () => number;
}

const SESSION_URI = "plimsoll://sessions/";
const NOTE_LIMITS = `A note has at most ${LONGEST_NOTE} tokens and ${MOST_CHARACTERS} characters.`;
const NOT_CALLED = "No such session has called this server.";
/** How often a session with subscribers is looked at, ms. */
const LOOK_MS = 1_000;

const HANDOFF =
  "Write a handoff for the next session: what is done, what remains, what was found and must hold, and the files to read first. " +
  "Save it with the tool checkpoint, at most 2,000 tokens, and show it to me.";

/** An MCP server for the agents of one process of a harness. It answers a call only about the session that the call is from. */
export function createMcpServer(options: McpOptions): McpServer {
  const { sessions, lines, reports, machine, places, home, now } = options;
  const server = new McpServer(
    { name: "plimsoll", version: VERSION },
    { capabilities: { tools: {}, prompts: {}, resources: { subscribe: true } } },
  );
  /** Answers with what `answer` returns about the caller. */
  const about =
    <Arguments>(
      answer: (own: AgentLevel, bound: BoundSession, given: Arguments) => ToolAnswer | Promise<ToolAnswer>,
    ) =>
    async (given: Arguments, { mcpReq }: { mcpReq: { _meta?: unknown } }) => {
      const bound = await sessions.caller(mcpReq._meta);
      if ("refused" in bound) return resultOf(refused(bound.refused, bound.mark ? { mark: bound.mark } : {}));
      const own = bound.levels.find(({ agent }) => agent === bound.agent);
      const found = own === undefined ? refused("not_recorded") : await answer(own, bound, given);
      const mark = sessions.nextMark(bound);
      return resultOf(mark === undefined ? found : { ...found, mark });
    };

  async function besides(bound: BoundSession, detail: boolean): Promise<Beside> {
    const { server } = lines.of(bound);
    const [settings, note] = await Promise.all([
      settingsLine(bound.family, places, home),
      readNote(home, bound.session),
    ]);
    const lineOf = (one: AgentLevel) =>
      agentLine(lines.of({ ...bound, agent: one.agent }).line, settings(one.windowTokens), one);
    return { lineOf, server, note, now: now(), detail };
  }

  const contentsOf = (own: AgentLevel, { contents }: BoundSession) =>
    contents().find((one) => (one.agent ?? "main") === own.agent);

  server.registerTool(
    "headroom",
    TOOLS.headroom,
    about(async (own, bound, { detail = false }: { detail?: boolean | undefined }) =>
      headroomAnswer(
        own,
        bound.levels.filter((one) => one !== own),
        await besides(bound, detail),
      ),
    ),
  );

  server.registerTool(
    "will_it_fit",
    TOOLS.will_it_fit,
    about(async (own, bound, given: { tokens?: number; path?: string; tool?: string }) => {
      const { tokens, path, tool } = given;
      if ([tokens, path, tool].filter((one) => one !== undefined).length !== 1)
        return refused("one_of_tokens_path_tool");
      const size: Size =
        tokens !== undefined
          ? { tokens }
          : path !== undefined
            ? await sizeOfFile(path, places.project, own.model)
            : sizeOfTool(tool!, contentsOf(own, bound));
      if ("unsized" in size) return refused(size.unsized);
      const fit = fitAnswer(size.tokens, own, (await besides(bound, false)).lineOf(own));
      return { ...fit, ...(size.medianOf !== undefined && { median_of: size.medianOf }) };
    }),
  );

  server.registerTool(
    "what_fills",
    TOOLS.what_fills,
    about((own, bound) => {
      const held = contentsOf(own, bound);
      return held === undefined || held.items.length === 0
        ? refused("no_contents")
        : fillsAnswer({ level: held.level, parts: contentsTree(held), largest: largestItems(held) });
    }),
  );

  server.registerTool(
    "what_was_dropped",
    TOOLS.what_was_dropped,
    about(async (own, bound) => {
      const note = await readNote(home, bound.session);
      return droppedAnswer(contentsOf(own, bound)?.loss, note);
    }),
  );

  server.registerTool(
    "checkpoint",
    TOOLS.checkpoint,
    about(async (own, bound, { note }: { note: string }) => {
      if (own.agent !== "main") return refused("sub_agent");
      const given = { session: bound.session, note, at: now() };
      const kept = await keepNote(home, given);
      if ("refused" in kept) {
        const { refused: reason, tokens } = kept;
        return refused(reason, { ...(reason === "too_long" && { hint: NOTE_LIMITS }), tokens });
      }
      const { lineOf } = await besides(bound, false);
      await reports.add(checkpointEvent(bound, { ...given, ...kept }, own, lineOf(own), machine));
      return { kept: true, ...kept };
    }),
  );

  server.registerPrompt(
    "handoff",
    { description: "Have the agent write down what the next session must know" },
    () => ({ messages: [{ role: "user", content: { type: "text", text: HANDOFF } }] }),
  );

  server.registerResource(
    "session",
    new ResourceTemplate(`${SESSION_URI}{id}`, {
      list: () => ({
        resources: sessions
          .called()
          .map((id) => ({ uri: `${SESSION_URI}${encodeURIComponent(id)}`, name: id })),
      }),
    }),
    { description: "Level and line of a session that called this server", mimeType: "application/json" },
    async (uri) => {
      const bound = await sessions.ofId(sessionIn(uri.href));
      const own = bound?.levels[0];
      if (bound === undefined || own === undefined) throw new ResourceNotFoundError(uri.href, NOT_CALLED);
      const answer = headroomAnswer(own, bound.levels.slice(1), await besides(bound, true));
      return { contents: [{ uri: uri.href, mimeType: "application/json", text: JSON.stringify(answer) }] };
    },
  );
  notifyOfChanges(server, sessions);
  return server;
}

/** Tells a client of new levels of the sessions that it subscribed to. */
function notifyOfChanges(server: McpServer, sessions: Sessions): void {
  const subscribed = new Map<string, NodeJS.Timeout>();
  const stop = (uri: string) => {
    clearInterval(subscribed.get(uri));
    subscribed.delete(uri);
  };
  server.server.setRequestHandler("resources/subscribe", async ({ params: { uri } }) => {
    const bound = await sessions.ofId(sessionIn(uri));
    if (bound === undefined) throw new ResourceNotFoundError(uri, NOT_CALLED);
    stop(uri);
    let shown = JSON.stringify(bound.levels);
    const look = async () => {
      const now = JSON.stringify((await sessions.ofId(bound.session))?.levels);
      if (now === shown) return;
      shown = now;
      await server.server.sendResourceUpdated({ uri });
    };
    subscribed.set(uri, setInterval(() => void look().catch(() => stop(uri)), LOOK_MS).unref());
    return {};
  });
  server.server.setRequestHandler("resources/unsubscribe", ({ params: { uri } }) => {
    stop(uri);
    return {};
  });
  server.server.onclose = () => {
    for (const uri of [...subscribed.keys()]) stop(uri);
  };
}

function sessionIn(uri: string): string {
  try {
    return uri.startsWith(SESSION_URI) ? decodeURIComponent(uri.slice(SESSION_URI.length)) : "";
  } catch {
    return "";
  }
}
