import type { AlertNotification } from "@plimsoll/protocol/alerts";
import type { AlertPage, AlertRuleView, AlertTimeline, ErrorBody } from "@plimsoll/protocol/api";
import pg from "pg";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { ADD_TEST_ENDPOINT, TEST_ENDPOINT } from "../testing/alerts.ts";
import { migratedDatabase } from "../testing/database.ts";
import { startTestServer, type TestServer } from "../testing/server.ts";
import { until } from "../testing/until.ts";
import { unique } from "./support.ts";

let database: Awaited<ReturnType<typeof migratedDatabase>>;
let client: pg.Client;
let servers: TestServer[] = [];

beforeAll(async () => {
  database = await migratedDatabase();
  servers = [await startTestServer({ databaseUrl: database.url })];
  client = new pg.Client({ connectionString: database.url });
  await client.connect();
  await client.query(ADD_TEST_ENDPOINT);
});
afterAll(async () => {
  await Promise.all(servers.map((server) => server.stop()));
  await client?.end();
  await database?.close();
});

let serial = 0;
const turn = (session: string, tokens: number) => {
  serial += 1;
  return {
    id: `t${serial}`,
    type: "turn",
    at: Date.now() - 60_000 + serial,
    harness: "phantom@alerts",
    session,
    model: "m",
    context_window: 10_000,
    usage: { input_tokens: tokens },
  };
};

async function notifications(): Promise<AlertNotification[]> {
  const { rows } = await client.query<{ body: AlertNotification }>(
    "SELECT body FROM alert_deliveries ORDER BY serial",
  );
  return rows.map(({ body }) => body);
}

/** What was told of some sessions. */
async function told(...sessions: string[]): Promise<string[]> {
  const isMeant = ({ alerts }: AlertNotification) =>
    alerts.some(({ subject }) => sessions.includes(subject.session ?? ""));
  return (await notifications()).filter(isMeant).map(({ kind, alerts }) => `${kind} ${alerts.length}`);
}

/** A rule that tells each session by itself. */
const ruleFor = (session: string, more: object = {}) => ({
  name: unique("rule"),
  condition: { type: "threshold", threshold: "ceiling" },
  scope: { match: [{ label: "session", is: session }] },
  group_by: ["session"],
  endpoints: [TEST_ENDPOINT],
  ...more,
});

const create = (server: TestServer, rule: unknown) =>
  server.mutate<AlertRuleView>("alerts.rules.create", { rule });

describe("alerts over HTTP", () => {
  it("fire when a level crosses the ceiling, and end when it falls", async () => {
    const [server] = servers as [TestServer];
    const session = unique("session");
    const { id } = await create(server, ruleFor(session));
    await server.send(turn(session, 2_500));
    await until(async () => (await told(session)).length === 1);
    const { body } = await server.get<AlertPage>(`/api/v1/alerts?rule=${id}`);
    expect(body.items).toMatchObject([{ phase: "firing", muted: null, subject: { session } }]);
    expect(body.items[0]!.path).toContain(body.items[0]!.session_id);
    await server.send(turn(session, 500));
    await until(async () => (await told(session)).length === 2);
    expect(await told(session)).toEqual(["firing 1", "resolved 1"]);
    const ended = await server.get<AlertPage>(`/api/v1/alerts?state=ended&rule=${id}&limit=1`);
    expect(ended.body).toMatchObject({
      items: [{ end_reason: "below", phase: "resolved" }],
      next_cursor: null,
    });
  });

  it("fire for each agent whose turns read little from the cache, and end when they do again", async () => {
    const [server] = servers as [TestServer];
    const session = unique("session");
    const condition = { type: "cache_read_share", below: 0.5, turns: 2 };
    const { id } = await create(server, ruleFor(session, { condition, group_by: ["session", "agent"] }));
    const read = (cached: number | undefined, agent: string) => ({
      ...turn(session, 0),
      agent,
      usage: { input_tokens: 1_000, cache_read_tokens: cached, basis: "inclusive" },
    });
    // The sub-agent never has two low turns after its first; the third agent's reads are unknown.
    for (const [main, sub] of [
      [0, 0],
      [100, 100],
      [200, 900],
    ] as const)
      await server.send([read(main, "main"), read(sub, "sub"), read(undefined, "unknown")]);
    await until(async () => (await told(session)).length === 1);
    const { body } = await server.get<AlertPage>(`/api/v1/alerts?rule=${id}`);
    expect(body.items).toMatchObject([
      {
        phase: "firing",
        subject: { session, agent: "main" },
        why: "20% of the context was read from the cache, below 50% for 2 turns",
      },
    ]);
    await server.send(read(900, "main"));
    await until(async () => (await told(session)).length === 2);
    expect(await told(session)).toEqual(["firing 1", "resolved 1"]);
  });

  it("show in the timeline of their rule, those that began before it as well", async () => {
    const [server] = servers as [TestServer];
    const session = unique("session");
    const { id } = await create(server, ruleFor(session));
    const quiet = await create(server, ruleFor(unique("session")));
    await server.send(turn(session, 2_500));
    await until(async () => (await told(session)).length === 1);
    const timeline = async () => {
      const { body } = await server.get<AlertTimeline>("/api/v1/alerts/timeline");
      expect(Date.parse(body.from) + 48 * body.step_ms).toBeGreaterThan(Date.now());
      expect(body.rules.map((rule) => rule.id)).not.toContain(quiet.id);
      return body.rules.find((rule) => rule.id === id)!.firing.join("");
    };
    expect(await timeline()).toBe("1".padStart(48, "0"));
    await client.query("UPDATE alerts SET fired_at = now() - interval '3 days' WHERE rule_id = $1", [id]);
    expect(await timeline()).toBe("1".repeat(48));
    await client.query("UPDATE alerts SET resolved_at = now() - interval '2 days' WHERE rule_id = $1", [id]);
    const { body } = await server.get<AlertTimeline>("/api/v1/alerts/timeline");
    expect(body.rules.map((rule) => rule.id)).not.toContain(id);
  });

  it("names every mistake of a rule, and refuses a lost update", async () => {
    const [server] = servers as [TestServer];
    const post = (path: string, body: unknown, method = "POST") =>
      server.request<AlertRuleView & ErrorBody>(`/api/v1/alerts${path}`, {
        method,
        headers: { "content-type": "application/json" },
        body: JSON.stringify(body),
      });
    const wrong = await post("/rules", { rule: { name: "x", condition: { type: "load", at_least: 90 } } });
    expect(wrong.status).toBe(400);
    expect(wrong.body.error).toMatchObject({
      code: "invalid_alert_rule",
      details: { mistakes: [{ path: "condition.at_least" }] },
    });
    const { body: made } = await post("/rules", { rule: ruleFor(unique("session")) });
    expect((await post("/rules", { rule: made.rule })).status).toBe(409);
    const first = await post(`/rules/${made.id}`, { expected: 1, rule: { ...made.rule, for: "1m" } }, "PUT");
    expect(first.body).toMatchObject({ version: 2 });
    const lost = await post(`/rules/${made.id}`, { expected: 1, rule: made.rule }, "PUT");
    expect(lost.status).toBe(412);
    expect(lost.body.error).toMatchObject({
      code: "alert_rule_changed",
      details: { expected: 1, version: 2 },
    });
    expect((await post(`/rules/${made.id}/switch`, { expected: 2, enabled: false })).body).toMatchObject({
      enabled: false,
    });
    const removed = await server.request(`/api/v1/alerts/rules/${made.id}`, { method: "DELETE" });
    expect(removed.status).toBe(200);
  });

  it("need the scope alerts:write to be changed", async () => {
    const [server] = servers as [TestServer];
    const { secret } = await server.mutate<{ secret: string }>("keys.create", {
      name: unique("key"),
      scopes: ["read"],
    });
    const refused = await server.request<ErrorBody>("/api/v1/alerts/presets", {
      method: "POST",
      headers: { "content-type": "application/json", authorization: `Bearer ${secret}` },
      body: JSON.stringify({ preset: "thrash", endpoints: [] }),
    });
    expect(refused.status).toBe(403);
    expect((await server.get("/api/v1/alerts", secret)).status).toBe(200);
  });
});

describe("two servers", () => {
  it("tell everything once, whichever receives the events", async () => {
    const [one] = servers as [TestServer];
    const two = await startTestServer({ databaseUrl: database.url });
    servers.push(two);
    const session = unique("session");
    await create(two, ruleFor(session));
    await Promise.all([one, two].map((server) => server.send(turn(session, 2_500))));
    await until(async () => (await told(session)).length > 0);
    await two.send(turn(session, 500));
    await until(async () => (await told(session)).length === 2);
    expect(await told(session)).toEqual(["firing 1", "resolved 1"]);
  });

  it("lose and repeat nothing when the one that evaluates is killed", async () => {
    for (let round = 0; round < 3; round++) {
      const [one, two] = servers as [TestServer, TestServer];
      const sessions = Array.from({ length: 10 }, () => unique("session"));
      for (const session of sessions) await create(two, ruleFor(session));
      // At any point of the evaluation of these.
      const sending = two.send(sessions.map((session) => turn(session, 2_500)));
      await one.stop("SIGKILL");
      expect((await sending).status).toBe(200);
      const all = () => told(...sessions);
      await until(async () => (await all()).length === sessions.length);
      const next = await startTestServer({ databaseUrl: database.url });
      servers = [two, next];
      await next.send(sessions.map((session) => turn(session, 500)));
      await until(
        async () => (await all()).filter((what) => what === "resolved 1").length === sessions.length,
      );
      expect((await all()).sort()).toEqual([
        ...sessions.map(() => "firing 1"),
        ...sessions.map(() => "resolved 1"),
      ]);
    }
    await servers[0]!.expectHealthy();
  });
});
