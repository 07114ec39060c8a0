import { execFile } from "node:child_process";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import type {
  AlertEndpointWithSecret,
  CreatedKey,
  PolicyAnswer,
  PolicyHarnessList,
  ProjectView,
  SessionDetail,
  SessionPage,
  WholePolicy,
} from "@plimsoll/protocol/api";
import pg from "pg";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { type CitusCluster, type CitusDatabase, distribute, startCitus } from "../testing/citus.ts";
import { CITUS } from "../testing/find-citus.ts";
import { type Receiver, startReceiver } from "../testing/receiver.ts";
import { startTestServer, type TestServer } from "../testing/server.ts";
import { until } from "../testing/until.ts";
import { createEmitter, modelCall } from "./otlp-client.ts";
import { dayRange, START, type TurnInput, turn, unique } from "./support.ts";
import { call, inProject, makeKeyIn, makeProject, post } from "./two-projects.ts";

const ENV = {
  PLIMSOLL_WEBHOOK_ALLOW: "loopback",
  PLIMSOLL_SECRET: "a secret that the restored server has as well",
};
const PROGRAM = fileURLToPath(new URL("../../packages/cli/bin/plimsoll.js", import.meta.url));
const run = promisify(execFile);

/** A project of its own worker. */
interface Tenant {
  project: ProjectView;
  key: CreatedKey;
  /** Where its rows are. */
  port: number;
}

async function query<Row extends object>(url: string, text: string, values: unknown[] = []): Promise<Row[]> {
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  try {
    return (await client.query<Row>(text, values)).rows;
  } finally {
    await client.end();
  }
}

describe.skipIf(CITUS === undefined)("a server on Citus", { timeout: 300_000 }, () => {
  let cluster: CitusCluster;
  let database: CitusDatabase;
  let server: TestServer;
  let receiver: Receiver;
  let folder: string;
  let a: Tenant;
  let b: Tenant;

  async function makeTenant(other?: Tenant): Promise<Tenant> {
    for (;;) {
      const project = await makeProject(server, unique("tenant"));
      const [place] = await query<{ port: number }>(
        database.url,
        `SELECT n.nodeport AS port FROM pg_dist_placement p JOIN pg_dist_node n USING (groupid)
         WHERE p.shardid = get_shard_id_for_distribution_column('sessions', $1::int4)`,
        [project.id],
      );
      if (place!.port === other?.port) continue;
      return { project, key: await makeKeyIn(server, project.id, ["admin"]), port: place!.port };
    }
  }

  const ask = <T>({ key }: Tenant, path: string, input: unknown = {}) =>
    call<T>(server, key.secret, path, input, "query");
  const change = <T>({ key }: Tenant, path: string, input: unknown = {}) =>
    call<T>(server, key.secret, path, input, "mutation");
  const sessionsOf = async (tenant: Tenant, q: string) =>
    (await ask<SessionPage>(tenant, "sessions.list", { ...dayRange, q })).items;
  const sessionOf = async (tenant: Tenant, q: string) => (await sessionsOf(tenant, q))[0];

  async function send({ key }: Tenant, ...events: object[]): Promise<void> {
    const { status, body, text } = await server.send(events, key.secret);
    expect(status, text).toBe(200);
    expect(body.rejected).toEqual([]);
  }

  const failedChecks = async (tenant: Tenant) => {
    const { checks } = await ask<{ checks: { ok: boolean; name: string; message: string }[] }>(
      tenant,
      "doctor",
      { full: true },
    );
    return checks.filter(({ ok }) => !ok);
  };

  const cli = async (env: Record<string, string>, ...args: string[]) => {
    const { PATH } = process.env;
    const options = { env: { NODE_ENV: "production", HOME: folder, PATH, ...env } as NodeJS.ProcessEnv };
    return (await run(process.execPath, [PROGRAM, ...args], options)).stdout;
  };

  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), "plimsoll-citus-story-"));
    receiver = await startReceiver();
    cluster = await startCitus(CITUS!);
    database = await cluster.createDatabase();
    // As docs/operations.md says: a start creates the tables, then citus.sql distributes them.
    await (await startTestServer({ databaseUrl: database.url, env: ENV })).stop();
    await distribute(database.url);
    server = await startTestServer({ databaseUrl: database.url, env: ENV });
    a = await makeTenant();
    b = await makeTenant(a);
  }, 300_000);
  afterAll(async () => {
    await server?.stop();
    await receiver?.close();
    await cluster?.stop();
    await rm(folder, { recursive: true, force: true });
  });

  const localTables = (url: string) =>
    query<{ name: string }>(
      url,
      `SELECT c.table_name AS name FROM information_schema.columns c
       WHERE c.table_schema = 'public' AND c.column_name = 'project_id'
         AND NOT EXISTS (SELECT 1 FROM pg_dist_partition p WHERE p.logicalrelid = c.table_name::regclass)`,
    );

  it("keeps every table of projects on the workers, and distributes them only once", async () => {
    await distribute(database.url);
    expect(await localTables(database.url)).toEqual([{ name: "api_keys" }]);
  });

  it("stores title, kind and end of a session", async () => {
    const session = unique("story");
    const event = { harness: "phantom@api", session, type: "session" };
    await send(
      a,
      turn(session, 1_000),
      { ...event, id: "s1", at: START, status: "started", kind: "conversation", title: "A title" },
      { ...event, id: "s2", at: START + 9e6, status: "ended", reason: "done" },
    );
    const found = (await sessionOf(a, session))!;
    expect(found).toMatchObject({ title: "A title", kind: "conversation", turns: 1 });
    const { session: stored } = await ask<SessionDetail>(a, "sessions.get", { id: found.id });
    expect(stored).toMatchObject({ status: "ended", end_reason: "done" });
  });

  it("moves an agent to the session that started it, with its tags and notes", async () => {
    const [root, child] = [unique("root"), unique("child")];
    await send(a, turn(root, 1_000), turn(child, 2_000));
    const { id } = (await sessionOf(a, child))!;
    await change(a, "sessions.tag", { ids: [id], tag: "moved", action: "add" });
    await change(a, "sessions.saveNote", { id, note: "a note", expected: 0 });
    await send(
      a,
      turn(root, 3_000, { agent: "helper", parent_agent: "main", own_session: child, model: unique("m") }),
    );
    expect(await sessionOf(a, child)).toBeUndefined();
    expect(await sessionOf(a, root)).toMatchObject({
      agents: 2,
      turns: 3,
      tags: ["moved"],
      note_excerpt: "a note",
    });
  });

  it("imports a recording into one project, and takes OTLP in the other", async () => {
    const file = join(folder, "rollout-2026-11-20T10-00-00-0199aaaa-1111-7222-8333-444455556666.jsonl");
    const timestamp = new Date(START).toISOString();
    const info = {
      total_token_usage: { total_tokens: 21_000 },
      last_token_usage: { input_tokens: 20_000, output_tokens: 900, total_tokens: 20_900 },
      model_context_window: 258_400,
    };
    const lines = [
      { timestamp, type: "session_meta", payload: { id: "0199aaaa-1111-7222-8333-444455556666", timestamp } },
      { timestamp, type: "turn_context", payload: { model: "gpt-5-codex" } },
      { timestamp, type: "event_msg", payload: { type: "token_count", info } },
    ];
    await writeFile(file, lines.map((line) => `${JSON.stringify(line)}\n`).join(""));
    const flags = ["--url", server.url, "--key", a.key.secret];
    expect(await cli({}, "import", file, "--harness", "codex@laptop", ...flags)).toContain("0 rejected");
    expect(await sessionOf(a, "0199aaaa")).toMatchObject({ harness: "codex@laptop", turns: 1 });

    const emitter = createEmitter({
      url: server.url,
      key: b.key.secret,
      protocol: "http/protobuf",
      resource: { "service.name": "agent", "host.name": "vm" },
    });
    emitter.span("chat", START, modelCall("otlp-story", 1));
    await emitter.end();
    await until(async () => (await sessionOf(b, "otlp-story"))?.turns === 1);
    expect(await sessionOf(a, "otlp-story")).toBeUndefined();
  });

  it("folds agents again after a window's size was set, and answers with the new levels", async () => {
    const session = unique("window");
    const model = unique("model");
    await send(b, ...[10_000, 50_000].map((tokens) => turn(session, tokens, { model })));
    await change(b, "windows.set", { model, tokens: 100_000 });
    await until(async () => (await sessionOf(b, session))?.peak_utilization === 0.5);
    const left = "SELECT count(*)::int4 AS left FROM refolds";
    await until(async () => (await query<{ left: number }>(database.url, left))[0]!.left === 0);
  });

  it("hands out a policy, and counts who applied it", async () => {
    const harness = `${unique("mine")}@vm`;
    await send(a, turn(unique("session"), 1_000, { harness }));
    const policy = { settings: { thresholds: { ceiling: 50_000 } } };
    await change<WholePolicy>(a, "policies.save", { policy, expected: 0, reason: "a story" });
    const { generation, hash } = (
      await server.get<PolicyAnswer>(`/api/v1/policy?harness=${encodeURIComponent(harness)}`, a.key.secret)
    ).body;
    const ack = { type: "policy_ack", at: Date.now(), harness, generation, hash, status: "applied" };
    await send(a, { id: unique("ack"), ...ack });
    const { harnesses } = await ask<PolicyHarnessList>(a, "policies.harnesses");
    expect(harnesses.find(({ instance }) => instance === harness)).toMatchObject({ state: "applied" });
  });

  it("evaluates alert rules, and tells a webhook of an alert and of its end", async () => {
    const target = { kind: "webhook", url: `${receiver.url}/hook` };
    const { endpoint } = await change<AlertEndpointWithSecret>(b, "alerts.endpoints.create", {
      name: "hook",
      target,
    });
    const rule = {
      name: "Ceiling crossed",
      condition: { type: "threshold", threshold: "ceiling" },
      group_by: ["session"],
      group_interval: "0s",
      endpoints: [endpoint.id],
    };
    await change(b, "alerts.rules.create", { rule });
    const session = unique("alert");
    const live = (tokens: number): TurnInput =>
      turn(session, tokens, { at: Date.now(), context_window: 10_000, model: unique("model") });
    await send(b, live(9_900));
    await until(() => receiver.requests.length === 1);
    await send(b, live(100));
    await until(() => receiver.requests.length === 2);
    expect(receiver.requests.map(({ body }) => JSON.parse(body).type)).toEqual([
      "alert.firing",
      "alert.resolved",
    ]);
  });

  it("deletes sessions, keeps to a retention, and deletes a project", async () => {
    const session = unique("deleted");
    await send(a, turn(session, 1_000));
    const { id } = (await sessionOf(a, session))!;
    await change(a, "sessions.delete", { ids: [id] });
    expect(await sessionsOf(a, session)).toEqual([]);
    expect(await change(a, "sessions.undelete", { ids: [id] })).toMatchObject({ sessions: 1 });
    await change(a, "sessions.delete", { ids: [id] });
    const old = unique("old");
    await send(a, turn(old, 1_000, { at: Date.now() - 3 * 86_400_000 }));
    await change(a, "retention.set", { session_days: 2, rollup_days: 2 });
    const left = async () =>
      query<{ name: string }>(database.url, "SELECT name FROM sessions WHERE name = ANY($1)", [
        [session, old],
      ]);
    await until(async () => (await left()).length === 0, 120_000);
    await change(a, "retention.set", { session_days: null, rollup_days: null });

    const gone = await makeProject(server, unique("gone"));
    await server.request(`/api/v1/events`, inProject(gone.id, post([turn(unique("gone"), 1)])));
    await server.mutate("projects.delete", { id: gone.id, name: gone.name });
    // The server leaves a deleted project alone for a minute.
    await query(database.url, "UPDATE projects SET deleting_at = $1 WHERE id = $2", [new Date(0), gone.id]);
    await until(
      async () => (await query(database.url, "SELECT 1 FROM projects WHERE id = $1", [gone.id])).length === 0,
      120_000,
    );
  });

  it("backs up each project as of one moment while events come in, and restores into another cluster", async () => {
    let running = true;
    const load = (async () => {
      while (running) await send(b, turn("under-load", 1_000));
    })();
    const file = join(folder, "citus.backup");
    const env = { PLIMSOLL_HOME: server.home };
    await cli(env, "backup", file, "--url", server.url);
    running = false;
    await load;
    const other = await cluster.createDatabase({ migrated: true });
    const restored = await startTestServer({ databaseUrl: other.url, env: ENV });
    try {
      await cli({ PLIMSOLL_HOME: restored.home }, "restore", file, "--yes", "--url", restored.url);
      for (const { project } of [a, b]) {
        const failed = async () => {
          const answer = await restored.request<{ result: { data: { checks: { ok: boolean }[] } } }>(
            `/api/trpc/doctor?input=${encodeURIComponent('{"full":true}')}`,
            inProject(project.id),
          );
          return answer.body.result.data.checks.filter(({ ok }) => !ok);
        };
        // The server begins with the restored alert rules a moment later.
        await until(async () => (await failed()).length === 0);
      }
    } finally {
      await restored.stop();
      await other.close();
    }
  });

  it("loses nothing while a worker is away, and serves the projects of the other worker meanwhile", async () => {
    const worker = cluster.workers.find(({ port }) => port === a.port)!;
    const acknowledged = new Map<Tenant, number>([
      [a, 0],
      [b, 0],
    ]);
    let refused = 0;
    const session = unique("outage");
    const trySend = async (tenant: Tenant) => {
      const answer = await server.send(turn(session, 1_000), tenant.key.secret);
      if (answer.status === 200) acknowledged.set(tenant, acknowledged.get(tenant)! + answer.body.accepted);
      else {
        expect(answer.status, answer.text).toBe(503);
        expect(Number(answer.headers.get("retry-after"))).toBeGreaterThan(0);
        refused += tenant === a ? 1 : 0;
      }
    };
    await trySend(a);
    await worker.stop();
    await until(async () => {
      await Promise.all([trySend(a), trySend(b)]);
      return refused >= 5 && acknowledged.get(b)! >= 5;
    });
    expect(acknowledged.get(a)).toBe(1);
    expect((await sessionOf(b, session))?.turns).toBeGreaterThan(0);
    expect((await server.get("/readyz")).text).toMatch(/cannot be reached|does not answer/);
    await worker.start();
    await until(async () => {
      await trySend(a);
      return acknowledged.get(a)! >= 5;
    });
    for (const tenant of [a, b])
      await until(async () => (await sessionOf(tenant, session))?.turns === acknowledged.get(tenant));
  });

  it("has set nothing aside, and passes every check", async () => {
    for (const tenant of [a, b]) await until(async () => (await failedChecks(tenant)).length === 0, 60_000);
    expect((await server.get("/readyz")).body).toEqual({ status: "ready" });
  });
});
