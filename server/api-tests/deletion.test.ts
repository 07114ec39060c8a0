import type {
  AlertPage,
  DeletionView,
  FleetStatus,
  FleetView,
  HarnessList,
  SessionPage,
  UndeletionView,
} from "@plimsoll/protocol/api";
import pg from "pg";
import { afterAll, afterEach, beforeAll, describe, expect, it } from "vitest";
import { migratedDatabase } from "../testing/database.ts";
import { startTestServer, type TestServer } from "../testing/server.ts";
import { until } from "../testing/until.ts";
import { openLive } from "./live-client.ts";
import { dayRange, makeKey, rangeQuery, sendAndWait, turn, unique } from "./support.ts";

let database: Awaited<ReturnType<typeof migratedDatabase>>;
let a: TestServer;
let b: TestServer;
let killed = false;

beforeAll(async () => {
  database = await migratedDatabase();
  a = await startTestServer({ databaseUrl: database.url });
  b = await startTestServer({ databaseUrl: database.url });
});
afterEach(async () => {
  if (!killed) await a.expectHealthy();
  await b.expectHealthy();
});
afterAll(async () => {
  if (!killed) await a?.stop();
  await b?.stop();
  await database?.close();
});

async function query<Row extends object>(text: string): Promise<Row[]> {
  const client = new pg.Client({ connectionString: database.url });
  await client.connect();
  try {
    return (await client.query<Row>(text)).rows;
  } finally {
    await client.end();
  }
}

/** Keeps what is deleted from being removed, however long a test takes. */
async function holdUndo(): Promise<void> {
  for (const table of ["sessions", "harnesses"])
    await query(
      `UPDATE ${table} SET deleted_at = (deleted_at AT TIME ZONE 'UTC' + interval '1 hour') AT TIME ZONE 'UTC' WHERE deleted_at IS NOT NULL`,
    );
}

const sessionsOf = async (server: TestServer, q: string) =>
  (await server.trpc<SessionPage>("sessions.list", { ...dayRange, q })).items;
const countSessions = async (server: TestServer) =>
  (await server.get<FleetStatus>(`/api/v1/status?${rangeQuery}`)).body.totals.sessions;

/** A session with live agents, of a harness of its own. Returns its id. */
async function makeSession(session: string, harness = unique("harness")): Promise<string> {
  const at = Date.now() - 60_000;
  const events = Array.from({ length: 20 }, (_, n) => turn(session, 1_000 + n, { harness, at: at + n }));
  expect((await sendAndWait(a, events)).body.accepted).toBe(20);
  return (await sessionsOf(a, session))[0]!.id;
}

describe("the deletion of a session over HTTP", () => {
  it("hides it at once on every server and in every list, tells open pages, and undo brings it back", async () => {
    const session = unique("session");
    const id = await makeSession(session);
    const before = await countSessions(b);
    const live = await openLive(b);
    await live.hears(null);
    live.messages.length = 0;
    const { status, body } = await a.request<DeletionView>("/api/v1/sessions/delete", {
      method: "POST",
      body: JSON.stringify({ ids: [id] }),
      headers: { "content-type": "application/json" },
    });
    expect(status).toBe(200);
    expect(body).toMatchObject({ sessions: 1, turns: 20 });
    expect(body.undo_until).not.toBeNull();
    await holdUndo();
    await live.hears(null);
    live.close();
    for (const server of [a, b]) {
      expect(await sessionsOf(server, session)).toEqual([]);
      expect((await server.get(`/api/v1/sessions/${id}`)).status).toBe(404);
      expect((await server.get(`/api/v1/sessions/${id}/turns`)).status).toBe(404);
      expect((await server.get(`/api/v1/sessions/${id}/chart`)).status).toBe(404);
      expect((await server.get(`/api/v1/sessions.csv?${rangeQuery}`)).text).not.toContain(session);
      const fleet = (await server.get<FleetView>("/api/v1/fleet")).body;
      expect(fleet.agents.map(({ session_id }) => session_id)).not.toContain(id);
      expect((await server.get("/metrics")).text).not.toContain(session);
    }
    expect(await countSessions(b)).toBe(before - 1);
    expect(await b.mutate<UndeletionView>("sessions.undelete", { ids: [id] })).toEqual({
      harnesses: 0,
      sessions: 1,
    });
    expect(await sessionsOf(a, session)).toMatchObject([{ id, turns: 20 }]);
    expect(await countSessions(a)).toBe(before);
  });

  it("needs the scope admin, and ids that are ids", async () => {
    const id = await makeSession(unique("session"));
    const { secret } = await makeKey(a, "ingest", "read", "policy:write", "alerts:write");
    for (const path of ["/api/v1/sessions/delete", "/api/v1/sessions/undelete"]) {
      const { status } = await a.request(path, {
        method: "POST",
        body: JSON.stringify({ ids: [id] }),
        headers: { "content-type": "application/json", authorization: `Bearer ${secret}` },
      });
      expect(status).toBe(403);
    }
    for (const ids of [[], ["x"], Array.from({ length: 1_001 }, () => id)]) {
      const { status } = await a.request("/api/v1/sessions/delete", {
        method: "POST",
        body: JSON.stringify({ ids }),
        headers: { "content-type": "application/json" },
      });
      expect(status).toBe(400);
    }
  });

  it("ends the alerts that are open on it", async () => {
    const session = unique("session");
    const harness = unique("harness");
    const rule = {
      name: unique("rule"),
      scope: { harness },
      condition: { type: "tokens", at_least: 1_000 },
    };
    await a.mutate("alerts.rules.create", { rule });
    const id = await makeSession(session, harness);
    const alerts = async (state: "open" | "ended") =>
      (await a.trpc<AlertPage>("alerts.list", { session: id, state })).items;
    await sendAndWait(a, [turn(session, 5_000, { harness, at: Date.now() })]);
    await until(async () => (await alerts("open")).length > 0);
    await a.mutate("sessions.delete", { ids: [id] });
    await until(async () => (await alerts("open")).length === 0);
    expect(await alerts("ended")).toMatchObject([{ end_reason: "subject_deleted" }]);
  });

  it("of a harness hides the harness too", async () => {
    const harness = unique("harness");
    await makeSession(unique("session"), harness);
    await makeSession(unique("session"), harness);
    const instances = [harness];
    expect(await a.trpc<DeletionView>("harness.count", { instances })).toMatchObject({
      harnesses: 1,
      sessions: 2,
      undo_until: null,
    });
    expect(await a.mutate<DeletionView>("harness.delete", { instances })).toMatchObject({ sessions: 2 });
    await holdUndo();
    const { harnesses } = (await b.get<HarnessList>("/api/v1/harnesses")).body;
    expect(harnesses.map(({ instance }) => instance)).not.toContain(harness);
    expect(await sessionsOf(b, harness)).toEqual([]);
    expect(await b.mutate<UndeletionView>("harness.undelete", { instances })).toEqual({
      harnesses: 1,
      sessions: 2,
    });
  });
});

describe("retention over HTTP", () => {
  it("refuses events that are older than the project keeps sessions, on every server", async () => {
    await a.mutate("retention.set", { session_days: 10, rollup_days: null });
    const old = turn(unique("session"), 1, { at: Date.now() - 11 * 86_400_000 });
    await until(async () => {
      const answers = await Promise.all([a.send(old), b.send(old)]);
      return answers.every(({ body }) => body.rejected[0]?.code === "past_retention");
    });
    await b.mutate("retention.set", { session_days: null, rollup_days: null });
    await until(async () => (await a.send(old)).body.accepted === 1);
  });
});

describe("a kill of the server that projects", () => {
  it("leaves the removal to another server, which finishes it", async () => {
    const harness = unique("harness");
    const ids = await Promise.all(Array.from({ length: 5 }, () => makeSession(unique("doomed"), harness)));
    const kept = await makeSession(unique("kept"), harness);
    await a.mutate("sessions.delete", { ids });
    await query(
      "UPDATE sessions SET deleted_at = now() - interval '14 seconds' WHERE deleted_at IS NOT NULL",
    );
    killed = true;
    await a.kill9();
    await until(
      async () => (await query("SELECT 1 FROM sessions WHERE deleted_at IS NOT NULL")).length === 0,
      30_000,
    );
    const left = await query<{ id: string }>(`SELECT id FROM sessions WHERE harness = '${harness}'`);
    expect(left.map(({ id }) => id)).toEqual([kept]);
    const report = await b.trpc<{ ok: boolean; checks: { ok: boolean; name: string; message: string }[] }>(
      "doctor",
      {
        full: true,
      },
    );
    expect(report.checks.filter(({ ok }) => !ok)).toEqual([]);
  });
});
