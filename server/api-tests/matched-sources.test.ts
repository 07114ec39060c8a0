import { execFile } from "node:child_process";
import { mkdir, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { afterAll, beforeAll, expect, it } from "vitest";
import { type TestDatabase, testDatabase } from "../testing/database.ts";
import { dumpTables } from "../testing/dump.ts";
import { makeHome, removeHome, startTestServer, type TestServer } from "../testing/server.ts";
import { jsonBody, pairs } from "./otlp-client.ts";
import { storedSession } from "./stored-session.ts";
import { caughtUp, countsOf, makeKey, START } from "./support.ts";

/** Two calls in a row have equal counts, seconds apart. */
const PROMPTS = [20_000, 61_000, 61_000, 64_500];
const PAUSE_MS = 4_000;
/** A clock that is behind must not reach the day before, of which names would be left. */
const BEGIN = START + 60_000;
const timeOf = (call: number) => BEGIN + call * PAUSE_MS;
const iso = (at: number) => new Date(at).toISOString();

interface Harness {
  name: "codex" | "gemini-cli";
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

const run = promisify(execFile);
const PROGRAM = fileURLToPath(new URL("../../packages/cli/src/plimsoll.ts", import.meta.url));

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
    ["--import", "tsx", PROGRAM, "import", file, "--harness", `${name}@laptop`, "--url", url, "--key", key],
    { env: { NODE_ENV: "production", HOME: home, PATH: process.env.PATH } },
  );
  expect(stdout).toContain("0 rejected");
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
const open: { server?: TestServer; database: TestDatabase }[] = [];

beforeAll(async () => {
  home = await makeHome();
  dumps = [];
});
afterAll(async () => {
  for (const { server, database } of open) {
    await server?.stop();
    await database.close();
  }
  await removeHome(home);
});

it.each(Object.keys(ORDERS))("counts each call of Codex and Gemini CLI once: %s", async (order) => {
  const database = await testDatabase();
  const opened: (typeof open)[number] = { database };
  open.push(opened);
  let server = await startTestServer({ databaseUrl: database.url });
  opened.server = server;
  const key = (await makeKey(server, "ingest")).secret;
  await ORDERS[order]!({
    async telemetry({ name, telemetry }, from, to) {
      const { status } = await server.request("/otlp/v1/logs", {
        method: "POST",
        headers: { "content-type": "application/json", authorization: `Bearer ${key}` },
        body: jsonBody("logs", telemetry.slice(from, to), {
          "service.name": name === "codex" ? "codex_exec" : name,
          "host.name": "laptop",
        }),
      });
      expect(status).toBe(200);
      await caughtUp(server);
    },
    async recording(harness) {
      await importRecording(harness, { url: server.url, key });
      await caughtUp(server);
    },
    async restart() {
      await server.stop();
      server = await startTestServer({ databaseUrl: database.url });
      opened.server = server;
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
