import { execFile } from "node:child_process";
import { mkdir, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { afterAll, afterEach, beforeAll, expect, it } from "vitest";
import { type TestDatabase, testDatabase } from "../testing/database.ts";
import { dumpTables } from "../testing/dump.ts";
import { makeHome, removeHome, startTestServer, type TestServer } from "../testing/server.ts";
import { jsonBody, pairs } from "./otlp-client.ts";
import { sessionsOf, storedSession } from "./stored-session.ts";
import { caughtUp, countsOf, KNOWN_MODEL, makeKey, START } from "./support.ts";

/** Two calls in a row have equal counts, seconds apart. */
const PROMPTS = [20_000, 61_000, 61_000, 64_500];
const PAUSE_MS = 4_000;
/** A clock that is behind must not reach the day before, of which names would be left. */
const BEGIN = START + 60_000;
const timeOf = (call: number) => BEGIN + call * PAUSE_MS;
const iso = (at: number) => new Date(at).toISOString();

interface Harness {
  name: "codex" | "gemini-cli" | "claude-code";
  session: string;
  /** One record of telemetry for each call. */
  telemetry: object[];
  /** One line for each call, after those that the format begins with. */
  recording: { path: string; begin: object[]; calls: object[] };
}

const codex: Harness = {
  name: "codex",
  session: "0199aaaa-1111-7222-8333-444455556666",
  telemetry: PROMPTS.map((input, call) => ({
    attributes: pairs({
      "event.name": "codex.sse_event",
      "event.kind": "response.completed",
      "event.timestamp": iso(timeOf(call)),
      "conversation.id": "0199aaaa-1111-7222-8333-444455556666",
      model: "gpt-5-codex",
      input_token_count: String(input),
      output_token_count: "900",
      cached_token_count: input - 5_000,
      reasoning_token_count: 300,
      tool_token_count: String(input + 900),
    }),
  })),
  recording: {
    path: "sessions/rollout-2026-11-20T10-00-00-0199aaaa-1111-7222-8333-444455556666.jsonl",
    begin: [
      {
        timestamp: iso(BEGIN - 2_000),
        type: "session_meta",
        payload: { id: "0199aaaa-1111-7222-8333-444455556666", timestamp: iso(BEGIN - 2_000) },
      },
      { timestamp: iso(BEGIN - 1_900), type: "turn_context", payload: { model: "gpt-5-codex" } },
    ],
    calls: PROMPTS.map((input, call) => ({
      timestamp: iso(timeOf(call) + 30),
      type: "event_msg",
      payload: {
        type: "token_count",
        info: {
          total_token_usage: { total_tokens: 100_000 * (call + 1) },
          last_token_usage: {
            input_tokens: input,
            cached_input_tokens: input - 5_000,
            output_tokens: 900,
            reasoning_output_tokens: 300,
            total_tokens: input + 900,
          },
          model_context_window: 258_400,
        },
      },
    })),
  },
};

const geminiCli: Harness = {
  name: "gemini-cli",
  session: "gemini-two-sources",
  telemetry: PROMPTS.map((input, call) => ({
    timeUnixNano: `${timeOf(call)}000000`,
    eventName: "gemini_cli.api_response",
    body: { stringValue: "gemini_cli.api_response" },
    attributes: pairs({
      "event.name": "gemini_cli.api_response",
      "session.id": "gemini-two-sources",
      model: "gemini-3-pro",
      input_token_count: input,
      output_token_count: 40,
      cached_content_token_count: 10_000,
      thoughts_token_count: 10,
      tool_token_count: 0,
      total_token_count: input + 50,
      duration_ms: 900,
      prompt_id: `gemini-two-sources########${call}`,
    }),
  })),
  recording: {
    path: "chats/session-2026-11-20T10-00-aaaaaaaa.jsonl",
    begin: [
      { sessionId: "gemini-two-sources", projectHash: "h", startTime: iso(BEGIN), lastUpdated: iso(BEGIN) },
    ],
    calls: PROMPTS.map((input, call) => ({
      id: `g-${call}`,
      // Its clock is three seconds behind.
      timestamp: iso(timeOf(call) - 3_000),
      type: "gemini",
      model: "gemini-3-pro",
      tokens: { input, output: 40, cached: 10_000, thoughts: 10, tool: 0, total: input + 50 },
    })),
  },
};

const HARNESSES = [codex, geminiCli];

/** Telemetry counts what a call wrote to a cache. Only the recording says how long the provider keeps it. */
const claudeCode: Harness = {
  name: "claude-code",
  session: "0199bbbb-1111-4222-8333-444455556666",
  telemetry: PROMPTS.map((prompt, call) => ({
    timeUnixNano: `${timeOf(call)}000000`,
    eventName: "claude_code.api_request",
    body: { stringValue: "claude_code.api_request" },
    attributes: pairs({
      "event.name": "api_request",
      "session.id": "0199bbbb-1111-4222-8333-444455556666",
      request_id: `req-${call}`,
      query_source: "repl_main_thread",
      model: KNOWN_MODEL,
      input_tokens: 10,
      cache_read_tokens: (PROMPTS[call - 1] ?? 10) - 10,
      cache_creation_tokens: prompt - (PROMPTS[call - 1] ?? 10),
      output_tokens: 40,
    }),
  })),
  recording: {
    path: "projects/p/0199bbbb-1111-4222-8333-444455556666.jsonl",
    begin: [],
    calls: PROMPTS.map((prompt, call) => ({
      ...{ type: "assistant", uuid: `u-${call}`, parentUuid: call === 0 ? null : `u-${call - 1}` },
      ...{ sessionId: "0199bbbb-1111-4222-8333-444455556666", isSidechain: false },
      timestamp: iso(timeOf(call)),
      requestId: `req-${call}`,
      message: {
        ...{ id: `msg-${call}`, model: KNOWN_MODEL, role: "assistant", content: [] },
        usage: {
          input_tokens: 10,
          cache_read_input_tokens: (PROMPTS[call - 1] ?? 10) - 10,
          cache_creation_input_tokens: prompt - (PROMPTS[call - 1] ?? 10),
          cache_creation: {
            ephemeral_5m_input_tokens: 0,
            ephemeral_1h_input_tokens: prompt - (PROMPTS[call - 1] ?? 10),
          },
          output_tokens: 40,
        },
      },
    })),
  },
};

const run = promisify(execFile);
const PROGRAM = fileURLToPath(new URL("../../packages/cli/bin/plimsoll.js", import.meta.url));

/** Imports a recording, as a person does. */
async function importRecording(
  { name, recording: { path, begin, calls } }: Harness,
  { url, key }: { url: string; key: string },
): Promise<void> {
  const file = join(home, path);
  await mkdir(dirname(file), { recursive: true });
  await writeFile(file, [...begin, ...calls].map((line) => `${JSON.stringify(line)}\n`).join(""));
  const { stdout } = await run(
    process.execPath,
    [PROGRAM, "import", file, "--harness", `${name}@laptop`, "--url", url, "--key", key],
    { env: { NODE_ENV: "production", HOME: home, PATH: process.env.PATH } },
  );
  expect(stdout).toContain("0 rejected");
}

async function sendTelemetry(
  server: TestServer,
  key: string,
  logs: object[],
  service: string,
): Promise<void> {
  const { status } = await server.request("/otlp/v1/logs", {
    method: "POST",
    headers: { "content-type": "application/json", authorization: `Bearer ${key}` },
    body: jsonBody("logs", logs, { "service.name": service, "host.name": "laptop" }),
  });
  expect(status).toBe(200);
  await caughtUp(server);
}

interface Sender {
  telemetry(harness: Harness, from: number, to: number): Promise<void>;
  recording(harness: Harness): Promise<void>;
  restart(): Promise<void>;
}

const ALL = PROMPTS.length;
const ORDERS: Record<string, (sender: Sender) => Promise<void>> = {
  async "telemetry first"(sender) {
    for (const harness of HARNESSES) await sender.telemetry(harness, 0, ALL);
    for (const harness of HARNESSES) await sender.recording(harness);
  },
  async "recordings first"(sender) {
    for (const harness of HARNESSES) await sender.recording(harness);
    for (const harness of HARNESSES) await sender.telemetry(harness, 0, ALL);
  },
  async "recordings in between, a restart, and everything again"(sender) {
    for (const harness of HARNESSES) {
      await sender.telemetry(harness, 1, 3);
      await sender.recording(harness);
    }
    await sender.restart();
    for (const call of [3, 0]) {
      for (const harness of HARNESSES) await sender.telemetry(harness, call, call + 1);
    }
    for (const harness of HARNESSES) {
      await sender.recording(harness);
      await sender.telemetry(harness, 0, ALL);
    }
  },
};

let home: string;
let dumps: Record<string, unknown[]>[];
let open: { server: TestServer; database: TestDatabase } | undefined;

beforeAll(async () => {
  home = await makeHome();
  dumps = [];
});
// Seven servers at once would take more connections than PostgreSQL has.
afterEach(async () => {
  await open?.server.stop();
  await open?.database.close();
  open = undefined;
});
afterAll(() => removeHome(home));

it.each(Object.keys(ORDERS))("counts each call of Codex and Gemini CLI once: %s", async (order) => {
  const database = await testDatabase();
  let server = await startTestServer({ databaseUrl: database.url });
  open = { server, database };
  const key = (await makeKey(server, "ingest")).secret;
  await ORDERS[order]!({
    async telemetry({ name, telemetry }, from, to) {
      const service = name === "codex" ? "codex_exec" : name;
      await sendTelemetry(server, key, telemetry.slice(from, to), service);
    },
    async recording(harness) {
      await importRecording(harness, { url: server.url, key });
      await caughtUp(server);
    },
    async restart() {
      await server.stop();
      server = await startTestServer({ databaseUrl: database.url });
      open = { server, database };
    },
  });

  for (const { session, name } of HARNESSES) {
    const { turns, agents } = await storedSession(server, session);
    expect(agents).toMatchObject([{ name: "main", turns: ALL }]);
    expect(turns.items.map(({ context_tokens }) => context_tokens)).toEqual([...PROMPTS].reverse());
    for (const turn of turns.items) {
      expect(turn).toMatchObject({
        sources: ["otlp", "transcript"],
        ...(name === "codex" ? { window_tokens: 258_400, window_source: "reported" } : { duration_ms: 900 }),
      });
    }
  }
  expect(await countsOf(server)).toMatchObject({ turn: 2 * ALL, turn_repeated: 2 * ALL });
  await server.expectHealthy();
  dumps.push(await dumpTables(database.prisma));
  expect(dumps.at(-1)).toEqual(dumps[0]);
});

it.each([
  ["before", [0, 1]],
  ["after", [1, 0]],
] as const)(
  "takes the life and the price of a cache from a recording that comes %s telemetry",
  async (_, order) => {
    const database = await testDatabase();
    const server = await startTestServer({ databaseUrl: database.url });
    open = { server, database };
    const key = (await makeKey(server, "ingest")).secret;
    const senders = [
      () => importRecording(claudeCode, { url: server.url, key }),
      () => sendTelemetry(server, key, claudeCode.telemetry, "claude-code"),
    ];
    for (const index of order) await senders[index]!();
    const { turns, agents } = await storedSession(server, claudeCode.session);
    expect(agents).toHaveLength(1);
    expect(agents[0]!.cache).toEqual({
      tokens: PROMPTS.at(-1)! - 10,
      cold_at: iso(timeOf(ALL - 1) + 3_600_000),
    });
    // Dollars a million tokens: 3 as input, 0.3 from a cache, 6 to one for an hour, 15 as output.
    const prices = PROMPTS.map((prompt, call) => {
      const before = PROMPTS[call - 1] ?? 10;
      return (10 * 3 + (before - 10) * 0.3 + (prompt - before) * 6 + 40 * 15) / 1e6;
    });
    expect(turns.items.map(({ estimated_cost_usd: usd }) => usd)).toEqual(
      prices.reverse().map((usd) => expect.closeTo(usd, 9)),
    );
    expect(turns.items.map(({ cache_write_1h_tokens: hour }) => hour)).toEqual(
      turns.items.map(({ cache_write_tokens: written }) => written),
    );
    const spent = prices.reduce((sum, usd) => sum + Math.round(usd * 1e6), 0) / 1e6;
    const [session] = await sessionsOf(server, claudeCode.session);
    expect(session!.estimated_cost_usd).toBeCloseTo(spent, 9);
    await server.expectHealthy();
  },
);
