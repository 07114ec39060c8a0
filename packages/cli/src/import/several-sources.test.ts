import { mkdtemp, rm } from "node:fs/promises";
import { hostname, tmpdir } from "node:os";
import { join } from "node:path";
import type { TurnPage } from "@plimsoll/protocol/api";
import { afterAll, beforeAll, expect, it } from "vitest";
import { reportStatus } from "../statusline/report.ts";
import { type ConnectHome, connectHome } from "../testing/connect-run.ts";
import { type Plimsoll, startPlimsoll } from "../testing/real-server.ts";

/** One call of Claude Code, as its telemetry, its transcript and its status line report it. */
const CALL = { fresh: 3, read: 100_000, write: 2_997, output: 640 };
const MODEL = "claude-opus-5";
const SESSION = "3f0e8a52-1111-4222-8333-44445555";

let server: Plimsoll;
let home: string;
let person: ConnectHome;
let key: string;
let readKey: string;

beforeAll(async () => {
  server = await startPlimsoll();
  home = await mkdtemp(join(tmpdir(), "plimsoll-sources-"));
  person = connectHome(home, server);
  await person.run(["connect", "claude-code", "--yes", "--no-wait"]);
  key = /plim_\w+/.exec(await person.read(".claude/settings.json"))![0];
  readKey = /plim_\w+/.exec(await person.run(["key", "create", "--name", "reader", "--scope", "read"]))![0];
});
afterAll(async () => {
  await person.run(["disconnect", "--all"]);
  await server.stop();
  await rm(home, { recursive: true, force: true });
});

const SOURCES = {
  async otlp(session: string, at: number, more: Record<string, string | number | undefined> = {}) {
    const attributes = {
      "session.id": session,
      model: MODEL,
      input_tokens: CALL.fresh,
      cache_read_tokens: CALL.read,
      cache_creation_tokens: CALL.write,
      output_tokens: CALL.output,
      cost_usd: 0.5,
      duration_ms: 4_000,
      request_id: `req_${session}`,
      query_source: "repl_main_thread",
      "gen_ai.context.window_size": 200_000,
      ...more,
    };
    const record = {
      timeUnixNano: `${at + 40}000000`,
      body: { stringValue: "claude_code.api_request" },
      eventName: "claude_code.api_request",
      attributes: attributesOf(attributes),
    };
    const resource = attributesOf({ "service.name": "claude-code", "host.name": hostname() });
    const response = await fetch(`${server.url}/otlp/v1/logs`, {
      method: "POST",
      headers: { "x-api-key": key, "content-type": "application/json" },
      body: JSON.stringify({
        resourceLogs: [
          {
            resource: { attributes: resource },
            scopeLogs: [{ scope: { name: "com.anthropic.claude_code.events" }, logRecords: [record] }],
          },
        ],
      }),
    });
    expect(response.status).toBe(200);
  },
  async transcript(session: string) {
    expect(await person.run(["import", person.path(fileOf(session))])).toContain("0 rejected");
  },
  async status_line(session: string) {
    const status = {
      session_id: session,
      transcript_path: person.path(fileOf(session)),
      model: { id: MODEL },
      context_window: {
        context_window_size: 1_000_000,
        current_usage: {
          input_tokens: CALL.fresh,
          output_tokens: CALL.output,
          cache_creation_input_tokens: CALL.write,
          cache_read_input_tokens: CALL.read,
        },
      },
    };
    expect(await reportStatus(JSON.stringify(status), { HOME: home })).toBe(true);
  },
};

function attributesOf(values: Record<string, string | number | undefined>) {
  return Object.entries(values).flatMap(([key, value]) =>
    value === undefined
      ? []
      : [{ key, value: typeof value === "string" ? { stringValue: value } : { doubleValue: value } }],
  );
}

const fileOf = (session: string) => `.claude/projects/p/${session}.jsonl`;

async function recordCall(session: string, at: number, requestId: string | undefined): Promise<void> {
  const common = { sessionId: session, isSidechain: false };
  const prompt = {
    ...common,
    type: "user",
    uuid: `q-${session}`,
    parentUuid: null,
    timestamp: new Date(at - 1_000).toISOString(),
    message: { role: "user", content: "read all of it ".repeat(500) },
  };
  const answer = {
    ...common,
    type: "assistant",
    uuid: `u-${session}`,
    parentUuid: prompt.uuid,
    timestamp: new Date(at).toISOString(),
    requestId,
    message: {
      id: `msg_${session}`,
      model: MODEL,
      role: "assistant",
      content: [{ type: "text", text: "hello" }],
      // Written before the answer was complete.
      usage: {
        input_tokens: CALL.fresh,
        cache_creation_input_tokens: CALL.write,
        cache_read_input_tokens: CALL.read,
        output_tokens: 25,
      },
    },
  };
  await person.write(fileOf(session), `${JSON.stringify(prompt)}\n${JSON.stringify(answer)}\n`);
}

async function read<T>(path: string): Promise<T> {
  const response = await fetch(`${server.url}${path}`, { headers: { authorization: `Bearer ${readKey}` } });
  expect(response.status).toBe(200);
  return (await response.json()) as T;
}

const ORDERS = [
  ["otlp", "transcript", "status_line"],
  ["otlp", "status_line", "transcript"],
  ["transcript", "otlp", "status_line"],
  ["transcript", "status_line", "otlp"],
  ["status_line", "otlp", "transcript"],
  ["status_line", "transcript", "otlp"],
] as const;

it.each(ORDERS.map((order, index) => ({ order, index })))(
  "a call that $order.0, $order.1 and $order.2 report is one turn",
  async ({ order, index }) => {
    const session = `${SESSION}${1_000 + index}`;
    const at = Date.now() - 60_000;
    await recordCall(session, at, `req_${session}`);
    for (const source of order) await SOURCES[source](session, at);
    await SOURCES[order[0]](session, at);
    const range = `from=${new Date(at - 60_000).toISOString()}&to=${new Date(at + 60_000).toISOString()}`;
    const { items } = await read<{ items: { id: string }[] }>(`/api/v1/sessions?q=${session}&${range}`);
    const turns = () => read<TurnPage>(`/api/v1/sessions/${items[0]!.id}/turns`);
    // Only the import waits until its events are visible.
    await expect
      .poll(async () => (await turns()).items[0]?.sources)
      .toEqual(["otlp", "status_line", "transcript"]);
    expect((await turns()).items).toMatchObject([
      {
        context_tokens: 103_000,
        output_tokens: CALL.output,
        cost_usd: 0.5,
        window_tokens: 1_000_000,
        window_source: "reported",
        composition_estimated: true,
        window_claims: [
          { source: "status_line", tokens: 1_000_000 },
          { source: "otlp", tokens: 200_000 },
        ],
      },
    ]);
  },
);

it.each([
  ["otlp", "transcript"],
  ["transcript", "otlp"],
] as const)(
  "a long call behind a gateway, whose sources have no id in common, is one turn: %s, %s",
  async (...order) => {
    const session = `${SESSION}${order[0] === "otlp" ? 2_000 : 2_001}`;
    const endedAt = Date.now() - 60_000;
    // The first line of the answer, with what was counted of it by then.
    await recordCall(session, endedAt - 38_000, undefined);
    const more = { request_id: undefined, duration_ms: 40_000, ttft_ms: 1_900 };
    for (const source of order) {
      if (source === "otlp") await SOURCES.otlp(session, endedAt, more);
      else await SOURCES.transcript(session);
    }
    const range = `from=${new Date(endedAt - 90_000).toISOString()}&to=${new Date(endedAt + 60_000).toISOString()}`;
    const sessions = () =>
      read<{ items: { id: string; turns: number }[] }>(`/api/v1/sessions?q=${session}&${range}`);
    await expect.poll(async () => (await sessions()).items).toMatchObject([{ turns: 1 }]);
    const { items } = await sessions();
    const turns = await read<TurnPage>(`/api/v1/sessions/${items[0]!.id}/turns`);
    expect(turns.items.filter(({ sources }) => sources.includes("otlp"))).toMatchObject([
      { sources: ["otlp", "transcript"], context_tokens: 103_000, output_tokens: CALL.output, cost_usd: 0.5 },
    ]);
  },
);
