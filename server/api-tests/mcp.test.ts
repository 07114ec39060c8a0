import { Client, StreamableHTTPClientTransport } from "@modelcontextprotocol/client";
import { estimateTokens } from "@plimsoll/guard/measure";
import type { AuditPage, CreatedKey, ErrorBody, Scope } from "@plimsoll/protocol/api";
import fc from "fast-check";
import { afterAll, afterEach, beforeAll, describe, expect, it } from "vitest";
import { startTestServer, type TestServer } from "../testing/server.ts";
import { sendAndWait, turn, unique } from "./support.ts";
import { inProject, makeProject, post } from "./two-projects.ts";

const HARNESS = "support@web-1";
let server: TestServer;
let key: string;
const clients: Client[] = [];

beforeAll(async () => {
  server = await startTestServer({ env: { PLIMSOLL_QUOTA_READS_PER_SECOND: "0" } });
  key = (await selfKey(HARNESS)).secret;
  const policy = {
    layers: [{ scope: { family: "support" }, settings: { thresholds: { ceiling: 180_000 } } }],
  };
  await server.mutate("policies.save", { policy, expected: 0, reason: "a line" });
});
afterEach(async () => {
  for (const client of clients.splice(0)) await client.close();
});
afterAll(() => server?.stop());
// Runs before the hook above.
afterAll(() => server.expectHealthy());

const selfKey = (harness: string, ...more: Scope[]) =>
  server.mutate<CreatedKey>("keys.create", { name: unique("key"), scopes: ["self", ...more], harness });

async function connect(headers: Record<string, string>, secret = key): Promise<Client> {
  const client = new Client({ name: "an agent", version: "1" });
  const transport = new StreamableHTTPClientTransport(new URL(`${server.url}/api/v1/mcp`), {
    requestInit: { headers: { authorization: `Bearer ${secret}`, ...headers } },
  });
  await client.connect(transport);
  clients.push(client);
  return client;
}

const of = (session: string, agent?: string) => ({
  "plimsoll-session": encodeURIComponent(session),
  ...(agent !== undefined && { "plimsoll-agent": agent }),
});

async function ask(client: Client, name: string, given: object = {}, meta?: object) {
  const { content, isError } = await client.callTool({
    name,
    arguments: { ...given },
    ...(meta && { _meta: { ...meta } }),
  });
  const [{ text }] = content as unknown as [{ text: string }];
  const answer: object = text.startsWith("{") ? JSON.parse(text) : { text };
  return { ...answer, isError: isError === true };
}

/** Turns of a session whose level rises by 10,000 tokens. */
async function work(session: string, levels: readonly number[], more: object = {}): Promise<void> {
  const own = { harness: HARNESS, ...more };
  const turns = levels.map((level) => turn(session, level, { ...own, usage: usageOf(level) }));
  expect((await sendAndWait(server, turns)).body.accepted).toBe(levels.length);
}
const usageOf = (level: number) => ({ input_tokens: level, output_tokens: 500 });

const message = (body: unknown, headers: Record<string, string> = {}, method = "POST") =>
  server.request<ErrorBody>("/api/v1/mcp", {
    method,
    headers: {
      authorization: `Bearer ${key}`,
      "content-type": "application/json",
      accept: "application/json, text/event-stream",
      ...headers,
    },
    ...(method === "POST" && { body: typeof body === "string" ? body : JSON.stringify(body) }),
  });
const LIST = { jsonrpc: "2.0", id: 1, method: "tools/list" };

describe("the tools over HTTP", () => {
  it("are the three that a server can answer, in fewer than 900 tokens", async () => {
    const { tools } = await (await connect({})).listTools();
    expect(tools.map(({ name }) => name)).toEqual(["headroom", "will_it_fit", "what_fills"]);
    expect(tools.every(({ annotations }) => annotations?.readOnlyHint)).toBe(true);
    expect(estimateTokens(JSON.stringify(tools))).toBeLessThan(900);
  });

  it("answer about the stated session, without counts unless asked", async () => {
    const session = unique("session é");
    await work(session, [50_000, 60_000, 70_000, 80_000, 90_000]);
    const client = await connect(of(session));
    const plain = await ask(client, "headroom");
    expect(plain).toMatchObject({ verdict: "plenty", basis: "rising", falls: 0, server: "known" });
    expect(plain).not.toHaveProperty("level");
    expect(plain).toMatchObject({ line: { source: "policy" } });
    expect(await ask(client, "headroom", { detail: true })).toMatchObject({
      level: { counted: 90_000, tokens: 90_500, window: 200_000 },
      line: { source: "policy", tokens: 180_000 },
    });
    // What was acknowledged before the call is in the answer.
    await server.send(turn(session, 175_000, { harness: HARNESS, usage: usageOf(175_000) }));
    expect(await ask(client, "headroom", { detail: true })).toMatchObject({
      verdict: "checkpoint_now",
      level: { counted: 175_000, tokens: 175_500 },
    });
  });

  it("give the age of a level from a machine whose clock is ahead or behind", async () => {
    const age = async (ms: number) => {
      const session = unique("session");
      await work(session, [90_000], { at: Date.now() + ms });
      const answer = await ask(await connect(of(session)), "headroom");
      return (answer as { level_age_s?: number }).level_age_s;
    };
    expect(await age(4 * 60_000)).toBe(0);
    expect(await age(-86_400_000)).toBeGreaterThanOrEqual(86_400);
  });

  it("say whether a number of tokens fits, and see no file", async () => {
    const session = unique("session");
    await work(session, [90_000]);
    const client = await connect(of(session));
    expect(await ask(client, "will_it_fit", { tokens: 1_000 })).toMatchObject({ fits: "yes", spare: 88_500 });
    expect(await ask(client, "will_it_fit", { tokens: 100_000 })).toMatchObject({ fits: "past_the_line" });
    expect(await ask(client, "will_it_fit", { tokens: 190_000 })).toMatchObject({ fits: "no" });
    for (const given of [{ path: "/etc/passwd" }, { tool: "Read" }, {}, { tokens: -1 }, { tokens: 1.5 }])
      expect(await ask(client, "will_it_fit", given)).toMatchObject({ isError: true });
  });

  it("say what fills the window, as far as a turn told it", async () => {
    const session = unique("session");
    await work(session, [100_000]);
    const client = await connect(of(session));
    expect(await ask(client, "what_fills")).toMatchObject({ refused: "no_contents" });
    const hostile = `mcp__docs__${"\u202eobey".repeat(20)}`;
    const parts = [
      { kind: "tool", tool: hostile, tokens: 40_000, count: 2 },
      { kind: "user", tokens: 10_000, count: 3 },
    ];
    const largest = [{ kind: "tool", tool: "Read", tokens: 30_000, at: Date.now() }];
    await work(session, [100_000], { contents: { parts, largest } });
    const filled = await ask(client, "what_fills");
    expect(filled).toMatchObject({
      parts: expect.arrayContaining([
        { part: "tools", share: 0.4 },
        { part: "MCP server docs", of: "tools", share: 0.4 },
        { part: "prompts and notices", share: 0.1 },
      ]),
      largest: [{ name: "Read", share: 0.3 }],
    });
    expect(JSON.stringify(filled)).not.toContain("\u202e");
  });

  it("refuse what no session is tied to, and never pick one", async () => {
    const session = unique("session");
    await work(session, [10_000]);
    const refusal = async (headers: Record<string, string>, meta?: object) =>
      (await ask(await connect(headers), "headroom", {}, meta)) as { refused?: string };
    expect(await refusal({})).toMatchObject({ refused: "no_session", isError: true });
    expect(await refusal({}, { "claudecode/toolUseId": "toolu_1" })).toMatchObject({ refused: "no_session" });
    expect(await refusal(of(unique("nowhere")))).toMatchObject({ refused: "unknown_session" });
    expect(await refusal(of("a\0b"))).toMatchObject({ refused: "unknown_session" });
    expect(await refusal({ "plimsoll-session": "%zz" })).toMatchObject({ refused: "unknown_session" });
    expect(await refusal(of(session, "scout"))).toMatchObject({ refused: "unknown_session" });
    // Codex names the thread in each call.
    expect(await refusal({}, { threadId: session })).not.toHaveProperty("refused");
    expect(await refusal(of(session), { threadId: session })).not.toHaveProperty("refused");
    expect(await refusal(of(session), { threadId: "another" })).toMatchObject({ refused: "other_session" });
    await work(session, [20_000], { agent: "scout", parent_agent: "main" });
    expect(await refusal(of(session))).toMatchObject({ refused: "several_agents" });
    const main = await connect(of(session, "main"));
    expect(await ask(main, "headroom", { detail: true })).toMatchObject({
      level: { counted: 10_000 },
      subagents: [{ agent: "scout", tokens: 20_000 }],
    });
    const scout = await connect(of(session, "scout"));
    expect(await ask(scout, "headroom", { detail: true })).toMatchObject({
      agent: "scout",
      level: { counted: 20_000 },
    });
  });

  it("find a sub-agent by the session that its harness runs it as", async () => {
    const [session, thread] = [unique("session"), unique("thread")];
    await work(session, [10_000]);
    await work(session, [30_000], { agent: "scout", parent_agent: "main", own_session: thread });
    const answer = await ask(await connect({}), "headroom", { detail: true }, { threadId: thread });
    expect(answer).toMatchObject({ agent: "scout", level: { counted: 30_000 } });
  });
});

describe("a key with the scope self", () => {
  it("names a harness, and no other key does", async () => {
    const create = (input: object) =>
      server.mutate<CreatedKey>("keys.create", { name: unique("key"), ...input });
    await expect(create({ scopes: ["self"] })).rejects.toThrow("Name it");
    await expect(create({ scopes: ["read"], harness: "support" })).rejects.toThrow("Add the scope");
    await expect(create({ scopes: ["self"], harness: " " })).rejects.toThrow("400");
    const made = await selfKey("support");
    expect(made).toMatchObject({ scopes: ["self"], harness: "support" });
    const { key: successor } = await server.mutate<{ key: CreatedKey }>("keys.rotate", { id: made.id });
    expect(successor).toMatchObject({ scopes: ["self"], harness: "support" });
    const { items } = await server.trpc<AuditPage>("audit.list", { limit: 50 });
    const entry = items.find(({ action, target }) => action === "key_created" && target === made.name);
    expect(entry?.detail).toContain("self, agents of support, never expires");
  });

  it("answers agents of its harness alone: an instance, or all of a family", async () => {
    const [session, elsewhere] = [unique("session"), unique("session")];
    await work(session, [10_000]);
    await work(elsewhere, [20_000], { harness: "support@web-2" });
    const foreign = unique("session");
    await work(foreign, [30_000], { harness: "supportive@web-1" });
    const level = async (name: string, harness: string) => {
      const client = await connect(of(name), (await selfKey(harness)).secret);
      const answer = await ask(client, "headroom", { detail: true });
      return (answer as { level?: { counted: number }; refused?: string }).level?.counted ?? answer;
    };
    expect(await level(session, HARNESS)).toBe(10_000);
    expect(await level(elsewhere, HARNESS)).toMatchObject({ refused: "unknown_session" });
    expect(await level(elsewhere, "Support")).toBe(20_000);
    for (const harness of ["support", "support%", "s_pport", "%", "support@", "SUPPORT@WEB-1"])
      expect(await level(foreign, harness), harness).toMatchObject({ refused: "unknown_session" });
    // Two instances may give their sessions the same name.
    await work(session, [40_000], { harness: "support@web-2" });
    expect(await level(session, "support")).toMatchObject({ refused: "several_sessions" });
    expect(await level(session, "support@web-2")).toBe(40_000);
  });

  it("can do nothing else", async () => {
    for (const path of ["/api/v1/fleet", "/metrics", "/api/v1/live", "/api/v1/policy", "/api/trpc/keys.list"])
      expect((await server.get(path, key)).status, path).toBe(403);
    expect((await server.send([turn(unique("session"), 1)], key)).status).toBe(403);
    const both = await selfKey(HARNESS, "ingest");
    expect((await server.send([turn(unique("session"), 1)], both.secret)).status).toBe(200);
  });

  it("knows no session of another project", async () => {
    const other = await makeProject(server, unique("project"));
    const name = unique("key");
    const { body } = await server.request<{ result: { data: CreatedKey } }>(
      "/api/trpc/keys.create",
      inProject(other.id, post({ name, scopes: ["self"], harness: HARNESS })),
    );
    const { secret } = body.result.data;
    const session = unique("session");
    await work(session, [10_000]);
    expect(await ask(await connect(of(session), secret), "headroom")).toMatchObject({
      refused: "unknown_session",
    });
    await expect(connect({ ...of(session), "plimsoll-project": "1" }, secret)).rejects.toThrow(
      "wrong_project",
    );
  });

  it("is what the call needs", async () => {
    const { secret } = await server.mutate<CreatedKey>("keys.create", {
      name: unique("key"),
      scopes: ["read"],
    });
    expect(await message(LIST, { authorization: `Bearer ${secret}` })).toMatchObject({ status: 403 });
    const unsigned = await message(LIST, { authorization: "" });
    expect(unsigned).toMatchObject({ status: 401, body: { error: { code: "unauthenticated" } } });
    expect(unsigned.headers.get("www-authenticate")).toBe("Bearer");
  });
});

describe("the endpoint", () => {
  it("answers no page of another origin", async () => {
    for (const headers of [
      { origin: "http://evil.example" },
      { origin: "null" },
      { "sec-fetch-site": "cross-site" },
    ] as Record<string, string>[])
      expect((await message(LIST, headers)).status, JSON.stringify(headers)).toBe(403);
    expect((await message(LIST, { origin: server.url })).status).toBe(200);
  });

  it("writes no line for a call into what the server prints", async () => {
    const before = server.errors();
    expect((await message(LIST)).status).toBe(200);
    expect(server.errors()).toBe(before);
  });

  it("refuses what is no single message, and opens no stream", async () => {
    expect((await message([LIST, LIST])).status).toBe(400);
    expect((await message("{")).status).toBe(400);
    expect((await message("")).status).toBe(400);
    expect((await message(`{"a":"${"x".repeat(2 << 20)}"}`)).status).toBe(413);
    expect((await message(`${"[".repeat(100_000)}`)).status).toBe(400);
    expect((await message(LIST, { "content-type": "text/plain" })).status).toBe(415);
    expect((await message(undefined, {}, "GET")).status).toBe(405);
    expect((await message(undefined, {}, "DELETE")).status).toBe(405);
    const meta = {
      "io.modelcontextprotocol/protocolVersion": "2026-07-28",
      "io.modelcontextprotocol/clientInfo": { name: "a", version: "1" },
      "io.modelcontextprotocol/clientCapabilities": {},
    };
    const listen = {
      ...{ jsonrpc: "2.0", id: 1, method: "subscriptions/listen" },
      params: { _meta: meta, notifications: { toolsListChanged: true } },
    };
    const { text } = await message(listen, {
      "mcp-protocol-version": "2026-07-28",
      "mcp-method": "subscriptions/listen",
    });
    expect(text).toContain("error");
  });

  it("answers each of 1,000 interleaved calls about its own agent", {
    timeout: 300_000,
  }, async () => {
    const agents = ["main", "scout", "clerk"];
    const sessions = Array.from({ length: 12 }, (_, at) => unique(`interleaved-${at}`));
    const levelOf = (session: number, agent: number) => 10_000 + session * 1_000 + agent * 100;
    for (const [at, session] of sessions.entries())
      for (const [index, agent] of agents.entries())
        await work(session, [levelOf(at, index)], { agent, ...(index > 0 && { parent_agent: "main" }) });
    const opened = await Promise.all(
      sessions.flatMap((session) => agents.map((agent) => connect(of(session, agent)))),
    );
    let answered = 0;
    await fc.assert(
      fc.asyncProperty(
        fc.array(fc.nat({ max: opened.length - 1 }), { minLength: 50, maxLength: 50 }),
        async (order) => {
          const asked = order.map(async (which) => {
            const answer = await ask(opened[which]!, "headroom", { detail: true });
            answered += 1;
            const at = Math.floor(which / agents.length);
            expect(answer).toMatchObject({ level: { counted: levelOf(at, which % agents.length) } });
          });
          await Promise.all(asked);
        },
      ),
      { numRuns: 20 },
    );
    expect(answered).toBeGreaterThanOrEqual(1_000);
  });
});
