import { gzipSync } from "node:zlib";
import type {
  IngestReceipts,
  IngestRefusals,
  ProjectView,
  SessionDetail,
  UnmappedTelemetryList,
  WindowContentsView,
} from "@plimsoll/protocol/api";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { encodeSpans } from "../testing/otlp-protobuf.ts";
import { startTestServer, type TestServer } from "../testing/server.ts";
import { until } from "../testing/until.ts";
import { countedCalls } from "./counted-calls.ts";
import { expectNowhere } from "./nowhere.ts";
import { createEmitter, jsonBody, modelCall, modelCallSpan, type Protocol, pairs } from "./otlp-client.ts";
import { storedSession, sessionsOf as storedSessions } from "./stored-session.ts";
import { makeKey, rangeQuery, START, unique } from "./support.ts";

let server: TestServer;
let key: string;
beforeAll(async () => {
  server = await startTestServer();
  key = (await makeKey(server, "ingest")).secret;
});
afterAll(() => server?.stop());

const JSON_TYPE = { "content-type": "application/json" };

const sessionsOf = (session: string) => storedSessions(server, session);
const stored = (session: string) => storedSession(server, session);
async function detailOf(session: string): Promise<SessionDetail> {
  const [found] = await sessionsOf(session);
  return server.trpc<SessionDetail>("sessions.get", { id: found!.id });
}

const post = (signal: string, body: BodyInit, headers: Record<string, string> = {}) =>
  server.request<Record<string, unknown>>(`/otlp/v1/${signal}`, {
    method: "POST",
    headers: { ...JSON_TYPE, authorization: `Bearer ${key}`, ...headers },
    body,
  });

describe("the OpenTelemetry SDK", () => {
  it.each<Protocol>(["http/protobuf", "http/json"])("sends model calls over %s", async (protocol) => {
    const session = unique("sdk");
    const emitter = createEmitter({
      url: server.url,
      key,
      protocol,
      resource: { "service.name": "loop-bot" },
    });
    for (const n of [1, 2, 3]) emitter.span("chat", START + n * 1_000, modelCall(session, n));
    emitter.span("invoke_agent", START + 4_000, {
      ...modelCall(session, 6),
      "gen_ai.operation.name": "invoke_agent",
    });
    await emitter.end();
    await until(async () => (await sessionsOf(session)).some(({ turns }) => turns === 3));
    expect(await sessionsOf(session)).toMatchObject([
      { session, harness: "loop-bot", turns: 3, peak_tokens: 3_000 },
    ]);
  });
});

describe("OTLP", () => {
  it("gives the same database, whatever the order, batching and repetition", async () => {
    const numbers = [1, 2, 3, 4, 5, 6];
    const [one, other] = [unique("ordered"), unique("shuffled")];
    await post(
      "traces",
      jsonBody(
        "traces",
        numbers.map((n) => modelCallSpan(one, n)),
      ),
    );
    for (const n of [4, 6, 1, 5, 3, 2, 3, 6])
      await post("traces", jsonBody("traces", [modelCallSpan(other, n)]));
    await post(
      "traces",
      jsonBody(
        "traces",
        [...numbers].reverse().map((n) => modelCallSpan(other, n)),
      ),
    );
    const rename = (value: unknown) => JSON.parse(JSON.stringify(value).replaceAll(other, one)) as unknown;
    expect(strip(rename(await stored(other)))).toEqual(strip(await stored(one)));
  });

  describe("tells what came of tool calls", () => {
    const SECRET = "xylophone-quartz";
    const claude = (harness: string, session: string) => {
      const resource = { "service.name": "claude-code", "plimsoll.harness": harness };
      const log = (name: string, at: number, attributes: Record<string, string | number | boolean>) => ({
        timeUnixNano: `${START + at}000000`,
        body: { stringValue: `claude_code.${name}` },
        attributes: pairs({ "event.name": name, "session.id": session, "event.sequence": at, ...attributes }),
      });
      const call = (n: number) =>
        log("api_request", n * 1_000, {
          ...{ model: "claude-opus-4-6", request_id: `req_${n}`, query_source: "sdk", duration_ms: 600 },
          ...{ input_tokens: 1_000 * n, cache_read_tokens: 0, cache_creation_tokens: 0, output_tokens: 10 },
        });
      const tool = (id: string, n: number, attributes: Record<string, string>) =>
        log("tool_result", n * 1_000 + 300, {
          ...{ tool_use_id: id, request_id: `req_${n}`, tool_name: SECRET, tool_parameters: SECRET },
          ...{ tool_input: SECRET, error: SECRET, duration_ms: 9, ...attributes },
        });
      const refused = log("tool_decision", 2_100, {
        ...{ tool_use_id: "d", request_id: "req_2", tool_name: SECRET, decision: "reject" },
        ...{ source: "user_reject", tool_parameters: SECRET },
      });
      const records = [
        ...[1, 2, 3].map(call),
        tool("a", 1, { success: "true" }),
        tool("b", 1, { success: "false", error_type: SECRET }),
        tool("c", 2, { success: "true" }),
        refused,
        // It also reports that the refused call failed.
        tool("d", 2, { success: "false" }),
        // Of a sub-agent whose calls are missing.
        tool("e", 3, { success: "false", agent_id: "a1" }),
      ];
      return (some: readonly object[] = records) => ({ records, body: jsonBody("logs", some, resource) });
    };

    it("in any order, one record a request, and sent again", async () => {
      const [one, other] = [unique("tools-in-order"), unique("tools-at-random")];
      const [ordered, shuffled] = [claude(one, one), claude(other, other)];
      expect((await post("logs", ordered().body)).text).toBe("{}");
      for (const record of shuffled().records.toReversed()) await post("logs", shuffled([record]).body);
      await post("logs", shuffled().body);
      const expected = { failed: [1, 4], rejected: [1, 4], cut_off: [0, 4] };
      expect(await countedCalls(server, one)).toEqual(expected);
      expect(await countedCalls(server, other)).toEqual(expected);
      expect(await sessionsOf(other)).toMatchObject([{ turns: 3 }]);
      await server.expectHealthy();
    });

    it("with no word of them in the database and the log", async () => {
      const session = unique("tools-said");
      await post("logs", claude(session, session)().body);
      await countedCalls(server, session);
      await expectNowhere(server, SECRET);
    });

    it("without an agent of their own, if only the calls name theirs", async () => {
      const session = unique("tools-unnamed");
      const span = (name: string, n: number, attributes: Record<string, string | number>) =>
        modelCallSpan(session, n, { "gen_ai.operation.name": name, ...attributes });
      const planner = span("chat", 1, { "gen_ai.agent.name": "planner" });
      const tools = [2, 3].map((n) => span("execute_tool", n, { "gen_ai.tool.name": "search" }));
      for (const spans of [tools.slice(1), [planner], tools]) await post("traces", jsonBody("traces", spans));
      const { session: row, agents, main_agent_id, more_agents } = await detailOf(session);
      expect(agents).toMatchObject([{ id: main_agent_id, name: "planner", turns: 1 }]);
      expect([row.agents, more_agents]).toEqual([1, 0]);
      // A sign of its own, such as a phase, makes it an agent like any other.
      const mark = { type: "phase", id: "p", harness: row.harness, session, at: START };
      await server.send({ ...mark, phase: "plan", status: "started" });
      expect((await detailOf(session)).agents.map(({ name }) => name).sort()).toEqual(["main", "planner"]);
    });

    it("as those of the main agent, while no call is known", async () => {
      const session = unique("tools-first");
      const tool = modelCallSpan(session, 1, { "gen_ai.operation.name": "execute_tool" });
      await post("traces", jsonBody("traces", [tool]));
      expect((await detailOf(session)).agents).toMatchObject([{ name: "main", turns: 0 }]);
      await post("traces", jsonBody("traces", [modelCallSpan(session, 2)]));
      expect((await detailOf(session)).agents).toMatchObject([{ name: "main", turns: 1 }]);
    });

    it("once, if the recording of the session is imported too", async () => {
      const session = unique("tools-recorded");
      await post("logs", claude(session, session)().body);
      const events = [1, 2, 3].map((n) => ({
        ...{ type: "turn", id: `req_${n}`, at: START + n * 1_000, harness: session, session },
        ...{ model: "claude-opus-4-6", witness: "transcript" },
        usage: { input_tokens: 1_000 * n, cache_read_tokens: 0, cache_write_tokens: 0, basis: "exclusive" },
        ...(n < 3 && { outcome: { calls: 2, failed: 1, rejected: 0, repeated: 1, failed_tests: 0 } }),
      }));
      await server.send(events);
      expect(await countedCalls(server, session)).toMatchObject({
        ...{ failed: [2, 4], rejected: [0, 4], repeated: [2, 4], failed_tests: [0, 4] },
      });
    });
  });

  describe("what the prompts of calls hold", () => {
    const SECRET = "sesame-of-a-prompt";
    const said = `${SECRET} `.repeat(400);
    const list = [
      { role: "system", content: said },
      { role: "user", content: [{ type: "text", text: said }] },
      {
        role: "assistant",
        content: said,
        tool_calls: [{ id: "1", name: "mcp__docs__search", arguments: { said } }],
      },
      { role: "tool", tool_call_id: "1", content: said },
    ];
    const json = JSON.stringify(list);
    const TOOLS = {
      "gen_ai.tool.definitions": JSON.stringify([{ name: "mcp__docs__search", description: said }]),
    };
    const PROMPTS: Record<string, string | string[]>[] = [
      ...["gen_ai.input.messages", "ai.prompt.messages", "genkit:input", "langfuse.observation.input"].map(
        (name) => ({
          ...TOOLS,
          [name]: json,
        }),
      ),
      ...[json.slice(0, 9_000), said, SECRET].map((text) => ({
        ...{ "gen_ai.input.messages": text, "gen_ai.system_instructions": text, "ai.prompt.tools": [text] },
        ...{ model_request_parameters: text, "gen_ai.prompt.0.content": text, "gen_ai.prompt": text },
      })),
      {
        ...{ "llm.input_messages.0.message.role": "user", "llm.input_messages.0.message.content": said },
        "llm.tools.0.tool.json_schema": JSON.stringify({ name: "mcp__docs__search", description: said }),
      },
      {
        ...{ "gen_ai.prompt.0.role": "user", "gen_ai.prompt.0.content": said },
        ...{
          "llm.request.functions.0.name": "mcp__docs__search",
          "llm.request.functions.0.description": said,
        },
      },
    ];
    const spans = (session: string, prompts = PROMPTS) =>
      prompts.map((prompt, n) => ({
        name: "chat",
        traceId: "0af7651916cd43dd8448eb211c80319c",
        spanId: n.toString(16).padStart(16, "0"),
        endNs: BigInt(START + n * 1_000) * 1_000_000n,
        attributes: { ...modelCall(`${session}-${n}`, 9), ...prompt },
        events: [SECRET],
      }));
    const sendSpans = (session: string, prompts = PROMPTS) =>
      post(
        "traces",
        new Uint8Array(encodeSpans({ "service.name": "teller" }, "test", spans(session, prompts))),
        {
          "content-type": "application/x-protobuf",
        },
      );
    const toolsHeld = async () =>
      (await server.get<WindowContentsView>(`/api/v1/contents?${rangeQuery}&harness=teller`)).body.tools;

    it("is sizes and names of tools, with no word of them in the database, the log and the answers", async () => {
      const session = unique("prompts");
      const answers = [await sendSpans(session)];
      const asJson = spans(session).map(({ attributes, endNs, name, traceId, spanId }) => ({
        ...{ name, traceId, spanId, endTimeUnixNano: String(endNs) },
        attributes: pairs(attributes),
      }));
      answers.push(await post("traces", jsonBody("traces", asJson, { "service.name": "teller" })));
      // A log record of the conventions has no counts.
      const log = {
        eventName: "gen_ai.client.inference.operation.details",
        attributes: pairs({ ...modelCall(session, 1), "gen_ai.input.messages": json }),
      };
      answers.push(await post("logs", jsonBody("logs", [log])));
      for (const { status, text } of answers) {
        expect(status).toBe(200);
        expect(text).not.toContain(SECRET);
      }
      await until(async () =>
        (await toolsHeld()).some(({ tool, windows }) => tool === "mcp__docs__search" && windows === 6),
      );
      const [tool] = (await toolsHeld()).filter(({ tool }) => tool === "mcp__docs__search");
      expect(tool).toMatchObject({ server: "docs", calls: 4, windows: 6 });
      expect(JSON.stringify(await toolsHeld())).not.toContain(SECRET);
      await expectNowhere(server, SECRET);
      await server.expectHealthy();
    });
  });

  it("answers an accepted request with an empty message in its own encoding", async () => {
    const json = await post("traces", jsonBody("traces", [modelCallSpan(unique("answer"), 1)]));
    expect([json.status, json.text, json.headers.get("content-type")]).toEqual([
      200,
      "{}",
      "application/json",
    ]);
    const protobuf = await post("logs", new Uint8Array(), { "content-type": "application/x-protobuf" });
    expect(protobuf).toMatchObject({ status: 200, text: "" });
    expect(protobuf.headers.get("content-type")).toBe("application/x-protobuf");
  });

  it("tells the owner of an ingest key what arrived with it, and nothing of other keys", async () => {
    const { secret } = await makeKey(server, "ingest");
    const headers = { authorization: `Bearer ${secret}` };
    const received = async () =>
      (await server.request<IngestReceipts>("/api/v1/ingest/received", { headers })).body;
    expect(await received()).toMatchObject({ accepted: 0, rejected: 0, last_request_at: null });
    const late = { ...modelCallSpan(unique("own"), 2), endTimeUnixNano: `${Date.now() + 3_600_000}000000` };
    await post("traces", jsonBody("traces", [modelCallSpan(unique("own"), 1), late]), headers);
    expect(await received()).toMatchObject({
      accepted: 1,
      rejected: 1,
      last_event_at: expect.any(String),
      last_rejections: [{ code: "in_the_future" }],
    });
    const { secret: reader } = await makeKey(server, "read");
    const other = { authorization: `Bearer ${reader}` };
    expect((await server.request("/api/v1/ingest/received", { headers: other })).status).toBe(403);
  });

  it("takes gzip, and keys in each of the ways that exporters can send them", async () => {
    const session = unique("keys");
    const ways: Record<string, string>[] = [
      { authorization: `Bearer ${key}` },
      { authorization: `Bearer%20${key}` },
      { authorization: key },
      { authorization: "", "x-api-key": key },
    ];
    for (const [n, headers] of ways.entries()) {
      const body = gzipSync(jsonBody("traces", [modelCallSpan(session, n + 1)]));
      expect((await post("traces", body, { ...headers, "content-encoding": "gzip" })).status).toBe(200);
    }
    expect(await sessionsOf(session)).toMatchObject([{ turns: 4 }]);
  });

  it("says how many records were not stored and why, and stores the others", async () => {
    const session = unique("partial");
    const late = { ...modelCallSpan(session, 2), endTimeUnixNano: `${Date.now() + 3_600_000}000000` };
    const { status, body } = await post(
      "traces",
      jsonBody("traces", [modelCallSpan(session, 1), late, 7 as never]),
    );
    expect(status).toBe(200);
    expect(body).toMatchObject({ partialSuccess: { rejectedSpans: "2" } });
    expect(await sessionsOf(session)).toMatchObject([{ turns: 1 }]);
    await until(async () =>
      (await server.trpc<IngestRefusals>("ingest.refusals")).refusals.some(
        ({ code }) => code === "in_the_future",
      ),
    );
  });

  it.each([
    [
      "metrics",
      { resourceMetrics: [{ scopeMetrics: [{ metrics: [{ name: "m", sum: { dataPoints: [{}, {}] } }] }] }] },
    ],
    ["traces", { resourceSpans: [{ scopeSpans: [{ spans: [{ name: "GET /", attributes: [] }] }] }] }],
    ["logs", { resourceLogs: [{ scopeLogs: [{ logRecords: [{ eventName: "tool_result" }, {}] }] }] }],
  ])("takes %s that it does not need without a word, which an exporter would print", async (signal, body) => {
    expect(await post(signal, JSON.stringify(body))).toMatchObject({ status: 200, text: "{}" });
  });

  it.each([
    [400, 3, "traces", "{", {}],
    [400, 3, "traces", "{", { "content-encoding": "gzip" }],
    [401, 16, "traces", "{}", { authorization: "Bearer nothing" }],
    [415, 3, "logs", "{}", { "content-type": "text/plain" }],
    [413, 8, "logs", new Uint8Array(33 * 1024 * 1024), {}],
  ] as [number, number, string, BodyInit, Record<string, string>][])(
    "answers %i with the status of gRPC %i",
    async (status, code, signal, body, headers) => {
      const answer = await post(signal, body, headers);
      expect(answer.status).toBe(status);
      expect(answer.body).toEqual({ code, message: expect.any(String) });
    },
  );

  it("needs the scope ingest", async () => {
    const { secret } = await makeKey(server, "read");
    const { status, text } = await post("traces", new Uint8Array(), {
      authorization: `Bearer ${secret}`,
      "content-type": "application/x-protobuf",
    });
    expect(status).toBe(403);
    expect(text).toContain("lacks the scope ingest");
  });

  it("keeps names of attributes of what it does not understand, never values, and in its project only", async () => {
    const name = unique("project");
    const { id } = await server.mutate<ProjectView>("projects.create", { name });
    const service = unique("service");
    const record = {
      attributes: pairs({ "acme.tokens.prompt": 12, "acme.question": "a secret" }),
      eventName: "acme.call",
    };
    const headers = { authorization: `Bearer ${server.token}`, "plimsoll-project": String(id) };
    // A busy database may lose a count, so one is sent until a repeat has been added.
    await until(async () => {
      const { status } = await post("logs", jsonBody("logs", [record], { "service.name": service }), headers);
      expect(status).toBe(200);
      return (await unmapped(id)).sources.some(({ count }) => count > 1);
    });
    expect(await unmapped(id)).toMatchObject({
      sources: [
        {
          signal: "logs",
          service,
          name: "acme.call",
          reason: "unknown_dialect",
          dialect: null,
          attributes: ["acme.question", "acme.tokens.prompt"],
          counts_tokens: true,
        },
      ],
    });
    expect(JSON.stringify(await unmapped(id))).not.toContain("secret");
    expect(JSON.stringify(await server.trpc("ingest.unmapped"))).not.toContain(service);
  });

  it("keeps the 50 newest sources of many, whatever their names", async () => {
    const { id } = await server.mutate<ProjectView>("projects.create", { name: unique("project") });
    const headers = { authorization: `Bearer ${server.token}`, "plimsoll-project": String(id) };
    const names = ["n\u0000\ud800".repeat(300), ...Array.from({ length: 200 }, (_, n) => `event-${n}`)];
    for (let from = 0; from < names.length; from += 20) {
      const part = names.slice(from, from + 20).map((eventName) => ({ eventName }));
      expect((await post("logs", jsonBody("logs", part), headers)).status).toBe(200);
    }
    await until(async () => (await unmapped(id)).sources.length === 50);
  });
});

async function unmapped(project: number): Promise<UnmappedTelemetryList> {
  const headers = { "plimsoll-project": String(project) };
  return (await server.request<UnmappedTelemetryList>("/api/v1/ingest/unmapped", { headers })).body;
}

/** Without ids that follow from the session's name, and times of receipt. */
function strip(value: unknown): unknown {
  return JSON.parse(
    JSON.stringify(value, (name, inner: unknown) =>
      ["id", "agent_id", "session_id", "first_received_at", "received_at"].includes(name) ? undefined : inner,
    ),
  ) as unknown;
}
