import { mkdtempSync, rmSync, utimesSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { PassThrough } from "node:stream";
import { setTimeout as sleep } from "node:timers/promises";
import { StdioServerTransport, serveStdio } from "@modelcontextprotocol/server/stdio";
import { createMcpServer } from "../packages/cli/src/mcp/mcp-server.ts";
import { NoteReports } from "../packages/cli/src/mcp/note-reports.ts";
import { ServerLines } from "../packages/cli/src/mcp/server-line.ts";
import { Sessions } from "../packages/cli/src/mcp/sessions.ts";
import { parsed } from "../packages/cli/src/statusline/claude-settings.ts";
import { ClaudeAgent } from "../packages/cli/src/testing/claude-agent.ts";

/** Two sessions of one machine. An answer about one has no sign of the other. */
const SIGNS = { toolu_fuzz_a: ["ofA", '"plenty"'], toolu_fuzz_b: ["ofB", '"checkpoint_now"'] };
type Call = keyof typeof SIGNS;
const CALLS = Object.keys(SIGNS) as Call[];
const LEVELS: Record<Call, number> = { toolu_fuzz_a: 31_000, toolu_fuzz_b: 190_000 };

const LAST = "the last one";
/** How long the server looks for a call, and how long all of them may take, ms. */
const PATIENCE_MS = 5;
const LIMIT_MS = 500;
/** What a pipe holds. */
const CHUNK = 65_536;

let recorded: { home: string; paths: string[] } | undefined;

function recordings(): { home: string; paths: string[] } {
  if (recorded !== undefined) return recorded;
  const home = mkdtempSync(join(tmpdir(), "plimsoll-fuzz-mcp-"));
  process.once("exit", () => rmSync(home, { recursive: true, force: true }));
  const paths = CALLS.map((call) => {
    const [name] = SIGNS[call];
    const agent = new ClaudeAgent(home).prompt(`Read the files ${name}.`);
    agent.result(agent.call(LEVELS[call] - 1_000, `Read${name}`), `Text ${name}. `.repeat(500));
    agent.call(LEVELS[call], "mcp__plimsoll__headroom", {}, call);
    return agent.path;
  });
  recorded = { home, paths };
  return recorded;
}

/** Sends lines to `plimsoll mcp`. No call may be answered about another session, or about one that nothing ties it to. */
export async function readByMcp(content: Buffer): Promise<object[]> {
  const { home, paths } = recordings();
  const now = new Date();
  for (const path of paths) utimesSync(path, now, now);
  const places = { home, project: home, env: {}, platform: process.platform };
  const sessions = new Sessions({ places, argument: undefined, now: Date.now, patienceMs: PATIENCE_MS });
  const notes = join(home, "notes");
  const options = {
    ...{ sessions, places, home: notes, machine: "fuzz", now: Date.now },
    lines: new ServerLines(async () => undefined, Date.now),
    reports: new NoteReports(() => Promise.reject(new Error("no server")), notes),
  };
  const [input, output] = [new PassThrough(), new PassThrough()];
  let said = "";
  output.on("data", (chunk) => {
    said += chunk;
  });
  const transport = new StdioServerTransport(input, output);
  const handle = serveStdio(() => createMcpServer(options), { transport, onerror: () => {} });
  const last = call("headroom", {}, { "claudecode/toolUseId": CALLS[0] }, LAST);
  const bytes = Buffer.concat([content, Buffer.from(`\n${JSON.stringify(last)}\n`)]);
  for (let at = 0; at < bytes.length; at += CHUNK) input.write(bytes.subarray(at, at + CHUNK));
  for (let ms = 0; ms < LIMIT_MS && !said.includes(LAST); ms += PATIENCE_MS) await sleep(PATIENCE_MS);
  await sleep(4 * PATIENCE_MS);
  await handle.close();
  await sessions.close();
  rmSync(options.home, { recursive: true, force: true });
  judgeAnswers(bytes.toString(), said);
  return [];
}

function judgeAnswers(sent: string, said: string): void {
  const callsOf = new Map<unknown, Set<unknown>>();
  /** Ids of calls of opencode, and what its plugin told. Such an answer may repeat that, and has a verdict of its own. */
  const told = { ids: new Set<unknown>(), text: "" };
  for (const line of sent.split("\n")) {
    const { id, params } = (parsed(line) ?? {}) as { id?: unknown; params?: { _meta?: object } };
    const meta = params?._meta as Record<string, unknown> | undefined;
    const made = meta?.["claudecode/toolUseId"];
    if (meta?.[TOLD] !== undefined) {
      told.ids.add(id);
      told.text += line;
    }
    callsOf.set(id, (callsOf.get(id) ?? new Set()).add(made));
  }
  for (const line of said.split("\n")) {
    const { id, result } = (parsed(line) ?? {}) as {
      id?: unknown;
      result?: { content?: [{ text?: string }] };
    };
    const text = result?.content?.[0]?.text ?? "";
    const calls = callsOf.get(id);
    const isSign = (sign: string) =>
      text.includes(sign) && !(told.ids.has(id) && (sign.startsWith('"') || told.text.includes(sign)));
    for (const other of CALLS)
      if (!calls?.has(other) && SIGNS[other].some(isSign))
        throw new Error(
          `Answered ${[...(calls ?? [])]} about the session of ${other}: ${text.slice(0, 200)}`,
        );
  }
}

const call = (name: string, given: object, meta: object, id: unknown) => ({
  ...{ jsonrpc: "2.0", id, method: "tools/call" },
  params: { name, arguments: given, _meta: meta },
});

const TOLD = "plimsoll/opencode";
/** What the plugin of opencode tells with a call: a session with a counted message and one that begins. */
const ofOpencode = (session: string, isWhole: boolean) => {
  const own = { sessionID: session, role: "assistant", modelID: "scripted", providerID: "local" };
  const tokens = (input: number) => ({ input, output: 20, reasoning: 0, cache: { read: 0, write: 0 } });
  const state = { status: "completed", input: { filePath: "a.ts" }, output: "Text. ".repeat(99) };
  const rows = [
    { id: session, projectID: "p", parentID: isWhole ? undefined : "ses_fuzz_parent", time: { created: 1 } },
    {
      ...own,
      id: "msg_1",
      time: { created: 1_795_889_589_632, completed: 1_795_889_595_253 },
      tokens: tokens(44_000),
    },
    { id: "prt_1", sessionID: session, messageID: "msg_1", type: "tool", tool: "read", callID: "c1", state },
    { ...own, id: "msg_2", time: { created: 1_795_889_596_000 }, tokens: { ...tokens(0), output: 0 } },
    { id: "prt_2", sessionID: session, messageID: "msg_2", type: "text", text: "I ask." },
  ];
  return { [TOLD]: { session, isWhole, rows: rows.map((row) => JSON.stringify(row)) } };
};

const [ofA, ofB] = CALLS.map((id) => ({ "claudecode/toolUseId": id })) as [object, object];

export const MCP_SEEDS: readonly unknown[] = [
  {
    ...{ jsonrpc: "2.0", id: 0, method: "initialize" },
    params: { protocolVersion: "2025-11-25", capabilities: {}, clientInfo: { name: "fuzz", version: "1" } },
  },
  { jsonrpc: "2.0", method: "notifications/initialized" },
  call("headroom", { detail: true }, ofA, 1),
  call("headroom", {}, ofB, 2),
  call("what_fills", {}, ofA, 3),
  call("checkpoint", { note: "note ofB ".repeat(500) }, ofB, 4),
  call("checkpoint", { note: "note ofA ".repeat(12_000) }, ofA, 5),
  call("what_was_dropped", {}, ofA, 6),
  call("will_it_fit", { tokens: 1_000 }, ofB, 7),
  call("will_it_fit", { path: "a.ts" }, { threadId: "11111111-1111-4111-8111-111111111111" }, 8),
  call("headroom", {}, {}, 9),
  call("headroom", { detail: true }, ofOpencode("ses_fuzz_c", true), 16),
  call("headroom", { detail: true }, ofOpencode("ses_fuzz_c", false), 17),
  call("what_fills", {}, ofOpencode("ses_fuzz_d", false), 18),
  call("checkpoint", { note: "note" }, { ...ofOpencode("ses_fuzz_e", true), ...ofA }, 19),
  { jsonrpc: "2.0", id: 10, method: "resources/list" },
  { jsonrpc: "2.0", id: 11, method: "resources/read", params: { uri: "plimsoll://sessions/x" } },
  { jsonrpc: "2.0", id: 12, method: "prompts/get", params: { name: "handoff" } },
  { jsonrpc: "2.0", method: "notifications/cancelled", params: { requestId: 2 } },
];
