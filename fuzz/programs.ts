import { createHash } from "node:crypto";
import { once } from "node:events";
import { type AddressInfo, BlockList, connect, createServer, type Server } from "node:net";
import { finished } from "node:stream/promises";
import type { Spool } from "@plimsoll/guard/report";
import { BackupError, BackupReader } from "@plimsoll/protocol/backup";
import { optIn } from "../packages/cli/src/acp/compaction-opt-in.ts";
import { lineFilter } from "../packages/cli/src/acp/line-filter.ts";
import { levelTurn } from "../packages/cli/src/acp/run-acp.ts";
import { NO_SESSIONS, readMessage, USAGE_MARKS } from "../packages/cli/src/acp/session-usage.ts";
import { runForwarder } from "../packages/cli/src/forward/forwarder.ts";
import { hookEvents } from "../packages/cli/src/hook/hook-events.ts";
import { parsed } from "../packages/cli/src/statusline/claude-settings.ts";
import { remembered } from "../packages/cli/src/statusline/session-memory.ts";
import { cacheText, statusText } from "../packages/cli/src/statusline/status-text.ts";
import { recordedCache, turnOf } from "../packages/harnesses/src/claude-code/status-turn.ts";
import { readSubagents } from "../packages/harnesses/src/claude-code/subagent-status.ts";
import { readStatus } from "../packages/harnesses/src/status-line.ts";
import { sendRequest, storableText } from "../server/alerts/delivery/send-request.ts";
import { archiveBytes } from "./archives.ts";
import { databaseBytes, readByImport } from "./databases.ts";
import { MCP_SEEDS, readByMcp } from "./mcp-program.ts";
import { mutateBytes } from "./mutate-bytes.ts";
import type { Random } from "./random.ts";

/** Programs that read what a harness, a receiver or a file sends them. */
export const PROGRAM_NAMES = [
  ...(["hook", "statusline", "acp", "archive", "answer", "forward", "mcp", "database"] as const),
] as const;
export type ProgramName = (typeof PROGRAM_NAMES)[number];

/** Reads an input as the program does. Returns the events that it would send; throws for what it must not survive. */
type Read = (content: Buffer, path: string) => object[] | Promise<object[]>;

interface Program {
  read: Read;
  /** Valid lines, which are mutated; or a function that makes an input. */
  seeds: readonly unknown[] | ((random: Random) => Buffer);
}

const SESSION = "11111111-1111-4111-8111-111111111111";
const NOW = Date.UTC(2026, 10, 20, 10);

const update = (values: object) => ({
  jsonrpc: "2.0",
  method: "session/update",
  params: {
    sessionId: "s1",
    update: { sessionUpdate: "usage_update", used: 40_000, size: 200_000, ...values },
  },
});

const CALL = {
  input_tokens: 3,
  cache_read_input_tokens: 90_000,
  cache_creation_input_tokens: 40,
  output_tokens: 9,
};

export const PROGRAMS: Record<ProgramName, Program> = {
  hook: {
    read(content, path) {
      const input = parsed(content.toString());
      return hookEvents(path, input, NOW, () => true).map((event) => ({ ...event, harness: "fuzz@host" }));
    },
    seeds: [
      { hook_event_name: "PostCompact", session_id: SESSION, trigger: "manual", transcript_path: "/x" },
      { hook_event_name: "SessionEnd", session_id: SESSION, reason: "clear", cwd: "/x" },
    ],
  },
  statusline: {
    read(content) {
      const value = parsed(content.toString());
      const sample = readStatus(value);
      readSubagents(value);
      if (sample === undefined) return [];
      statusText(sample, remembered(undefined, sample.tokens), 150_000, true);
      const recording = JSON.stringify({
        ...{ requestId: "req_1", timestamp: "2026-11-20T10:00:00Z", isSidechain: false },
        message: { model: "m", usage: sample.usage && { ...CALL, ...usageOf(value) } },
      });
      const cache = recordedCache(recording);
      if (cache !== undefined) cacheText(cache, NOW);
      return [turnOf(sample, recording, "host")].filter((turn) => turn !== undefined);
    },
    seeds: [
      {
        ...{ session_id: SESSION, cwd: "/x", transcript_path: "/x/y", model: { id: "claude-opus-5" } },
        context_window: { context_window_size: 200_000, current_usage: CALL },
        cost: { total_cost_usd: 1.5 },
      },
      {
        session_id: SESSION,
        context_window: { current_context_tokens: 4_000, displayed_context_limit: 128_000 },
      },
      { session_id: SESSION, tasks: [{ id: "a1", tokenCount: 7_000, contextWindowSize: 200_000 }] },
    ],
  },
  acp: {
    async read(content) {
      const events: object[] = [];
      let known = NO_SESSIONS;
      const filter = lineFilter(["initialize", ...USAGE_MARKS.agent, ...USAGE_MARKS.client], (line) => {
        const message = parsed(line);
        const read = readMessage(known, message);
        known = read.sessions;
        if (read.sample !== undefined) events.push(levelTurn(read.sample, "fuzz@host", NOW, events.length));
        const asking = optIn(message);
        return asking === undefined ? "pass" : { replaceBy: JSON.stringify(asking) };
      });
      for (let at = 0; at < content.length; at += 100) filter.write(content.subarray(at, at + 100));
      filter.resume().end();
      await finished(filter);
      return events;
    },
    seeds: [
      { jsonrpc: "2.0", id: 1, method: "initialize", params: { protocolVersion: 1, clientCapabilities: {} } },
      {
        jsonrpc: "2.0",
        id: 3,
        method: "session/load",
        params: { sessionId: "s1", cwd: "/", mcpServers: [] },
      },
      { jsonrpc: "2.0", id: 1, result: { protocolVersion: 1, agentInfo: { name: "goose" } } },
      {
        jsonrpc: "2.0",
        id: 2,
        result: { sessionId: "s1", models: { currentModelId: "m" }, configOptions: [] },
      },
      { jsonrpc: "2.0", method: "session/set_model", params: { sessionId: "s1", modelId: "m2" } },
      update({}),
      update({ used: 90_000, cost: { amount: 1.5, currency: "USD" } }),
      update({ sessionUpdate: "compaction_update", compactionId: "c1", status: "completed" }),
    ],
  },
  archive: {
    read(content) {
      const reader = new BackupReader(createHash("sha256"));
      try {
        for (let at = 0; at < content.length; at += 1_000) reader.push(content.subarray(at, at + 1_000));
        reader.end();
      } catch (error) {
        if (!(error instanceof BackupError)) throw error;
      }
      return [];
    },
    seeds: archiveBytes,
  },
  answer: {
    async read(content) {
      const { port } = (await receiver()).address() as AddressInfo;
      answer = content;
      const request = { method: "POST" as const, url: `http://127.0.0.1:${port}/`, headers: {}, body: "{}" };
      const result = await sendRequest(request, { open: LOOPBACK, timeoutMs: ANSWER_MS, now: NOW });
      const { status = 200, retryAfterMs = 0 } = result;
      const kept = storableText(result.answer);
      const isKept = kept.length <= 4_096 && !kept.includes("\u0000") && kept.isWellFormed();
      if (!isKept || !Number.isSafeInteger(status) || !(retryAfterMs >= 0 && Number.isFinite(retryAfterMs)))
        throw new Error(`The result cannot be stored: ${JSON.stringify(result).slice(0, 300)}`);
      return [];
    },
    seeds: answerBytes,
  },
  forward: {
    async read(content) {
      const { port, kept } = await forwarder();
      answer = Buffer.from(OTLP_ANSWER);
      kept.length = 0;
      await exchange(port, content);
      // Whatever came before, the next exporter is answered, and its request is kept.
      const body = JSON.stringify({ resourceSpans: [] });
      const next = await fetch(`http://127.0.0.1:${port}/otlp/v1/traces`, {
        method: "POST",
        headers: { "content-type": "application/json", "x-api-key": "plim_key" },
        body,
      });
      if (next.status !== 200 || (await next.text()) !== "{}")
        throw new Error(`The forwarder answered ${next.status}.`);
      const last = JSON.parse(kept.at(-1) ?? "{}") as { body?: string };
      if (Buffer.from(last.body ?? "", "base64").toString() !== body)
        throw new Error("The forwarder did not keep a request.");
      return [];
    },
    seeds: requestBytes,
  },
  mcp: { read: readByMcp, seeds: MCP_SEEDS },
  database: { read: readByImport, seeds: databaseBytes },
};

const OTLP_ANSWER =
  "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 2\r\nConnection: close\r\n\r\n{}";

interface Forwarding {
  port: number;
  /** Requests that it kept, as lines of its spool. */
  kept: string[];
}
let forwarding: Promise<Forwarding> | undefined;

/** The forwarder of `plimsoll hook --forward`, with a spool in memory. What it keeps is sent to the receiver. */
function forwarder(): Promise<Forwarding> {
  forwarding ??= new Promise((resolve, reject) => {
    const kept: string[] = [];
    const waiting: string[] = [];
    const spool: Spool = {
      async add(lines) {
        kept.push(...lines);
        waiting.push(...lines);
        return 0;
      },
      async next() {
        const lines = waiting.slice(0, 100);
        const done = async () => void waiting.splice(0, lines.length);
        return lines.length === 0 ? undefined : { lines, done };
      },
    };
    const target = async () => `http://127.0.0.1:${((await receiver()).address() as AddressInfo).port}`;
    const options = { port: 0, target, spool, signal: new AbortController().signal, idleMs: 2 ** 30 };
    runForwarder(options, (port) => resolve({ port, kept })).catch(reject);
  });
  return forwarding;
}

/** Writes bytes to a server, and waits until it answers, closes or says nothing for a while. */
function exchange(port: number, bytes: Buffer): Promise<void> {
  return new Promise((resolve) => {
    const socket = connect(port, "127.0.0.1", () => socket.end(bytes));
    const end = () => {
      socket.destroy();
      resolve();
    };
    socket.setTimeout(EXCHANGE_MS, end);
    socket.on("error", end).on("close", end).on("data", end);
  });
}

/** Milliseconds without a byte. A request whose body is shorter than it says is not answered. */
const EXCHANGE_MS = 50;

const TELEMETRY_HEADERS = [
  ...["Content-Type: application/json", "Content-Type: application/x-protobuf", "Content-Type: \u00ff"],
  ...[
    "x-api-key: plim_key",
    "Authorization: Bearer plim_key",
    "x-api-key: ",
    "x-api-key: plim_a\r\nx-api-key: plim_b",
  ],
  ...["Content-Encoding: gzip", "Content-Encoding: x", "Expect: 100-continue", "Transfer-Encoding: chunked"],
  ...[
    "Content-Length: 99999999999",
    "Content-Length: -1",
    "Connection: upgrade",
    "Host: ",
    `X-Large: ${"x".repeat(20_000)}`,
  ],
];

/** A request of an exporter, from a correct one to one that is none. */
function requestBytes(random: Random): Buffer {
  const body = random.pick([
    "",
    "{}",
    '{"resourceSpans":[]}',
    "\u0000\ud800",
    "5\r\nhello\r\n0\r\n\r\n",
    "x".repeat(100_000),
  ]);
  const path = random.pick([
    "/otlp/v1/traces",
    "/otlp/v1/logs",
    "/otlp/v1/metrics",
    "/",
    "//x",
    "http://x/otlp/v1/logs",
    "*",
  ]);
  const method = random.pick(["POST", "POST", "POST", "GET", "PUT", "CONNECT", "x"]);
  const headers = Array.from({ length: random.between(1, 5) }, () => random.pick(TELEMETRY_HEADERS));
  if (!random.oneIn(3)) headers.push(`Content-Length: ${Buffer.byteLength(body)}`);
  const bytes = Buffer.from(
    `${[`${method} ${path} HTTP/1.1`, "Host: x", ...headers].join("\r\n")}\r\n\r\n${body}`,
  );
  return random.oneIn(2) ? mutateBytes(random, bytes) : bytes;
}

/** The counts of a status line's input. What is nested may be too deep for JSON.stringify. */
function usageOf(value: unknown): object {
  const { current_usage } = Object(Object(value).context_window) as { current_usage?: object };
  return Object.fromEntries(Object.entries(current_usage ?? {}).filter(([, one]) => typeof one !== "object"));
}

/** Milliseconds for an exchange with a receiver. */
const ANSWER_MS = 1_000;
const LOOPBACK = new BlockList();
LOOPBACK.addSubnet("127.0.0.0", 8);
let answer: Buffer = Buffer.alloc(0);
let opened: Promise<Server> | undefined;

/** Answers every request with the bytes of the input, and closes. */
async function receiver(): Promise<Server> {
  opened ??= (async () => {
    const server = createServer((socket) => {
      socket.on("error", () => {}).once("data", () => socket.end(answer));
    });
    server.listen(0, "127.0.0.1").unref();
    await once(server, "listening");
    return server;
  })();
  return opened;
}

const STATUSES = [
  "200 OK",
  "204 No Content",
  "301 Moved",
  "429 Too Many",
  "503 x",
  "100 Continue",
  "0 x",
  "999 x",
];
const HEADERS = [
  "Content-Length: 5",
  "Content-Length: -1",
  "Content-Length: 99999999999",
  "Transfer-Encoding: chunked",
]
  .concat([
    "Retry-After: 1e999",
    "Retry-After: -5",
    "Retry-After: Fri, 31 Dec 9999 23:59:59 GMT",
    "Retry-After: x",
  ])
  .concat([
    "Location: http://169.254.169.254/",
    "Content-Encoding: gzip",
    "Set-Cookie: a=b",
    "Connection: keep-alive",
  ]);

/** An answer of a receiver, from a correct one to one that no client should believe. */
function answerBytes(random: Random): Buffer {
  const headers = Array.from({ length: random.below(4) }, () => random.pick(HEADERS));
  if (random.oneIn(50)) headers.push(`X-Large: ${"x".repeat(70_000)}`);
  const head = [`HTTP/1.1 ${random.pick(STATUSES)}`, ...headers].join("\r\n");
  const body = random.pick([
    "",
    "hello",
    "5\r\nhello\r\n0\r\n\r\n",
    "\u0000\ud800",
    "é".repeat(5_000),
    "x".repeat(100_000),
  ]);
  const bytes = Buffer.from(`${head}\r\n\r\n${body}`);
  return random.oneIn(2) ? mutateBytes(random, bytes) : bytes;
}
