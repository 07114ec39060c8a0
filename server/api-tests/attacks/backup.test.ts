import { once } from "node:events";
import { type ClientRequest, type IncomingMessage, request } from "node:http";
import type { FleetStatus, ProjectView, SessionPage } from "@plimsoll/protocol/api";
import type { RestoreResult } from "@plimsoll/protocol/backup";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { connectTo } from "../../testing/backends.ts";
import { migratedDatabase } from "../../testing/database.ts";
import { send } from "../../testing/http-stack.ts";
import { type HttpAnswer, startTestServer, type TestServer } from "../../testing/server.ts";
import { until, untilPasses } from "../../testing/until.ts";
import { caughtUp, makeKey, rangeQuery, sendAndWait, turn, UNKNOWN_MODEL, unique } from "../support.ts";

let source: TestServer;
let backup: Buffer;
let cookie: string;
/** Of the project `billing`. */
let ingestKey: string;

/** In the same second, so that another server can be asked for the same. */
const SESSION = unique("session");
const FIRST = turn(SESSION, 100_000);

beforeAll(async () => {
  source = await startTestServer();
  await sendAndWait(source, [
    FIRST,
    turn(SESSION, 120_000),
    turn(SESSION, 20_000, { agent: "child", parent_agent: "main" }),
  ]);
  await source.mutate("windows.set", { model: UNKNOWN_MODEL, tokens: 54_321 });
  await source.mutate("projects.create", { name: "other" });
  const { id } = await source.mutate<{ id: number }>("projects.create", { name: "billing" });
  ingestKey = (
    await source.request<{ result: { data: { secret: string } } }>("/api/trpc/keys.create", {
      method: "POST",
      headers: { "content-type": "application/json", "plimsoll-project": String(id) },
      body: JSON.stringify({ name: "sender", scopes: ["ingest", "read"] }),
    })
  ).body.result.data.secret;
  expect((await source.send([turn("billed", 5_000)], ingestKey)).status).toBe(200);
  await caughtUp(source);
  await until(async () => (await sessionsOf(source, ingestKey)).length === 1);
  backup = await download(source);
  const { url } = await source.mutate<{ url: string }>("login.create");
  const login = await send(source.port, "/api/v1/login", { body: { token: url.split("#")[1] } });
  cookie = login.headers["set-cookie"]![0]!.split(";")[0]!;
});
afterAll(() => source?.stop());

async function download(server: TestServer): Promise<Buffer> {
  const answer = await fetch(`${server.url}/api/v1/backup`, { headers: bearer(server.token) });
  expect(answer.status).toBe(200);
  return Buffer.from(await answer.arrayBuffer());
}

const bearer = (token: string) => ({ authorization: `Bearer ${token}` });

const restore = (
  server: TestServer,
  file: Uint8Array<ArrayBuffer> | Buffer,
  headers: Record<string, string> = {},
) =>
  server.request<RestoreResult & { error?: { code: string; message: string } }>("/api/v1/restore", {
    method: "POST",
    headers,
    body: new Uint8Array(file),
  });

const totalsOf = async (server: TestServer) =>
  (await server.get<FleetStatus>(`/api/v1/status?${rangeQuery}`)).body.totals;
const sessionsOf = async (server: TestServer, key?: string) =>
  (await server.get<SessionPage>(`/api/v1/sessions?${rangeQuery}`, key)).body.items;
const projectsOf = async (server: TestServer) =>
  (await server.get<{ projects: ProjectView[] }>("/api/v1/projects")).body.projects.map(
    ({ id, name }) => `${id} ${name}`,
  );

/** Begins a restore and sends part of a file. */
function upload(server: TestServer, part: Uint8Array): ClientRequest {
  const outgoing = request(`${server.url}/api/v1/restore`, { method: "POST", headers: bearer(server.token) });
  outgoing.on("error", () => {});
  outgoing.write(part);
  return outgoing;
}

async function openTransactions(server: TestServer): Promise<number> {
  const client = await connectTo(server.databaseUrl!);
  const { rows } = await client.query(
    "SELECT 1 FROM pg_stat_activity WHERE datname = current_database() AND application_name = 'plimsoll maintenance' AND xact_start IS NOT NULL",
  );
  await client.end();
  return rows.length;
}

describe("who may take or restore a backup", () => {
  it.each([
    ["/api/v1/backup", "GET"],
    ["/api/v1/restore", "POST"],
  ])("%s refuses every key, and nobody at all", async (path, method) => {
    const ask = async (authorization: string) => {
      const { status, body } = await source.request<{ error: { code: string } }>(path, {
        method,
        headers: { authorization },
      });
      return `${status} ${body?.error?.code}`;
    };
    expect(await ask("")).toBe("401 unauthenticated");
    expect(await ask("Bearer plim_wrong")).toBe("401 unauthenticated");
    for (const scope of ["ingest", "read", "admin"] as const) {
      const { secret } = await makeKey(source, scope);
      expect(await ask(`Bearer ${secret}`)).toBe("403 wrong_project");
    }
  });

  it.each([
    ["another site", { origin: "https://evil.example", "sec-fetch-site": "cross-site" }],
    ["another port of this machine", { origin: "http://127.0.0.1:9", "sec-fetch-site": "same-site" }],
  ])("a page of %s cannot use the login of a browser", async (_name, headers) => {
    for (const [path, method] of [
      ["/api/v1/backup", "GET"],
      ["/api/v1/restore", "POST"],
    ]) {
      const { status, json } = await send(source.port, path!, {
        method,
        headers: { host: `127.0.0.1:${source.port}`, cookie, ...headers },
      });
      expect([status, json]).toMatchObject([403, { error: { code: "forbidden_scope" } }]);
    }
    const blind = await send(source.port, "/api/v1/restore", {
      method: "POST",
      headers: { host: `127.0.0.1:${source.port}`, cookie },
    });
    expect(blind.status).toBe(403);
  });

  it("a page of this server can, and no cache keeps the answer", async () => {
    const { status, headers, text } = await send(source.port, "/api/v1/backup", {
      method: "GET",
      headers: { host: `127.0.0.1:${source.port}`, cookie, "sec-fetch-site": "same-origin" },
    });
    expect([status, text.slice(0, 17)]).toEqual([200, "plimsoll-backup 1"]);
    expect(headers).toMatchObject({ "cache-control": "no-store", "x-content-type-options": "nosniff" });
    expect(headers["content-disposition"]).toMatch(/filename="plimsoll-\d{4}-\d\d-\d\dT\d{4}\.backup"/);
  });

  it("the server that wrote a backup refuses it, because it is not empty", async () => {
    const { status, body } = await restore(source, backup);
    expect([status, body.error]).toMatchObject([
      409,
      { code: "conflict", message: expect.stringContaining("sessions") },
    ]);
  });
});

describe("a backup of an external database in an embedded one", () => {
  let target: TestServer;
  beforeAll(async () => {
    target = await startTestServer({ embedded: true });
  });
  afterAll(() => target?.stop());

  it("is whole although events arrive, and the server goes on from there", async () => {
    let acknowledged = 3;
    let sending = true;
    const senders = Array.from({ length: 4 }, async (_, sender) => {
      while (sending) {
        const events = Array.from({ length: 50 }, () => turn(`busy-${sender}`, 1_000));
        expect((await source.send(events)).status).toBe(200);
        acknowledged += events.length;
      }
    });
    await until(() => acknowledged > 1_000);
    const least = acknowledged;
    const file = await download(source);
    const most = acknowledged + 4 * 50;
    sending = false;
    await Promise.all(senders);

    const { status, body } = await restore(target, file);
    expect([status, body]).toMatchObject([200, { projects: 3 }]);
    await caughtUp(target);
    const { turns } = await totalsOf(target);
    expect(turns).toBeGreaterThanOrEqual(least);
    expect(turns).toBeLessThanOrEqual(most);
    // Its projector held the lease of the default project before, and remembered an empty project.
    expect((await sendAndWait(target, [FIRST, turn(SESSION, 190_000)])).body).toMatchObject({
      accepted: 1,
      duplicates: 1,
    });
    expect((await totalsOf(target)).turns).toBe(turns + 1);
    await sendAndWait(target, [turn("new", 1_000, { model: UNKNOWN_MODEL, at: Date.now() })]);
    const fleet = await target.get<{ agents: { session: string; window_tokens: number }[] }>("/api/v1/fleet");
    expect(fleet.body.agents.find(({ session }) => session === "new")).toMatchObject({
      window_tokens: 54_321,
    });
    await target.expectHealthy();
  });

  it("has the projects with their ids and keys, and no login", async () => {
    expect(await projectsOf(target)).toEqual(await projectsOf(source));
    expect((await sessionsOf(target, ingestKey)).map(({ title, id }) => [title, id])).toEqual(
      (await sessionsOf(source, ingestKey)).map(({ title, id }) => [title, id]),
    );
    expect((await target.send([turn("billed", 6_000)], ingestKey)).status).toBe(200);
    const page = await send(target.port, "/api/v1/projects", {
      headers: {
        host: `127.0.0.1:${target.port}`,
        cookie: cookie.replaceAll(String(source.port), String(target.port)),
      },
    });
    expect(page.status).toBe(401);
    const next = await target.mutate<{ id: number }>("projects.create", { name: "next" });
    expect(next.id).toBe(4);
  });
});

describe("a hostile file or sender", () => {
  let target: TestServer;
  let second: TestServer;
  let database: Awaited<ReturnType<typeof migratedDatabase>>;
  beforeAll(async () => {
    database = await migratedDatabase();
    target = await startTestServer({ databaseUrl: database.url });
    second = await startTestServer({ databaseUrl: database.url });
  });
  afterAll(async () => {
    await Promise.all([target?.stop(), second?.stop()]);
    await database?.close();
  });

  const locksOnJournal = async () => {
    const client = await connectTo(database.url);
    const { rows } = await client.query(
      "SELECT 1 FROM pg_locks WHERE relation = 'journal'::regclass AND mode = 'ShareRowExclusiveLock' AND granted",
    );
    await client.end();
    return rows.length;
  };

  const waitForJournal = async () => {
    const client = await connectTo(database.url);
    const { rows } = await client.query(
      "SELECT 1 FROM pg_locks WHERE relation = 'journal'::regclass AND NOT granted",
    );
    await client.end();
    return rows.length;
  };

  const expectEmpty = async () => {
    expect(await projectsOf(target)).toEqual(["1 default"]);
    expect(await sessionsOf(target)).toEqual([]);
    await until(async () => (await openTransactions(target)) === 0);
  };

  it("changes nothing: cut short, altered, or not a backup", async () => {
    const altered = Buffer.from(backup);
    altered[backup.length >> 1]! ^= 1;
    for (const file of [
      backup.subarray(0, backup.length - 1),
      backup.subarray(0, backup.length >> 1),
      altered,
      Buffer.alloc(0),
      Buffer.from('{"projects": []}'),
      Buffer.concat([backup, Buffer.from("\n")]),
    ]) {
      const { status, body } = await restore(target, file);
      expect([status, body.error?.code], body.error?.message).toEqual([400, "bad_request"]);
      expect(body.error?.message).toContain("Nothing was restored.");
    }
    await expectEmpty();
  });

  it("is answered before 64 MB of rubbish have arrived, and is told why", async () => {
    const outgoing = request(`${target.url}/api/v1/restore`, {
      method: "POST",
      headers: bearer(target.token),
    });
    outgoing.on("error", () => {});
    const answered = once(outgoing, "response") as Promise<[IncomingMessage]>;
    let sent = 0;
    let status: number | undefined;
    void answered.then(([{ statusCode }]) => {
      status = statusCode;
    });
    const block = Buffer.alloc(65_536, 7);
    while (status === undefined && sent < 64 << 20) {
      sent += block.length;
      if (!outgoing.write(block)) await Promise.race([once(outgoing, "drain"), answered]);
    }
    outgoing.destroy();
    expect(status).toBe(400);
    expect(sent).toBeLessThan(8 << 20);
  });

  it("leaves no transaction open if it disappears while it sends or receives", async () => {
    const outgoing = upload(target, backup.subarray(0, backup.length - 50));
    await until(async () => (await openTransactions(target)) === 1);
    outgoing.destroy();
    await until(async () => (await openTransactions(target)) === 0);
    await expectEmpty();

    // More than the sockets hold, so that the server has to wait.
    const client = await connectTo(source.databaseUrl!);
    await client.query(
      "INSERT INTO rejected_events SELECT 1, gen_random_uuid(), now(), string_agg(sha512(gen_random_uuid()::text::bytea)::text, ''), '{}' FROM generate_series(1, 400000) n GROUP BY n % 400",
    );
    const reading = request(`${source.url}/api/v1/backup`, { headers: bearer(source.token) });
    reading.on("error", () => {});
    reading.end();
    const [incoming] = (await once(reading, "response")) as [IncomingMessage];
    incoming.pause();
    await until(async () => (await openTransactions(source)) === 1);
    const { status } = await source.get("/api/v1/backup");
    expect(status).toBe(409);
    reading.destroy();
    await until(async () => (await openTransactions(source)) === 0);
    await client.query("DELETE FROM rejected_events");
    await client.end();
    // The transaction ends shortly before the server knows that it may write another.
    await untilPasses(async () => expect((await download(source)).length).toBeGreaterThan(1_000));
  });

  it("keeps events out while it restores; they arrive after it, in every process", async () => {
    const outgoing = upload(target, backup.subarray(0, backup.length - 50));
    await until(async () => (await locksOnJournal()) === 1);
    const late = turn("late", 7_000);
    const answers: HttpAnswer[] = [];
    const sender = (async () => {
      while (answers.at(-1)?.status !== 200) answers.push(await second.send([late]));
    })();
    await until(async () => (await waitForJournal()) > 0);
    expect(answers).toEqual([]);
    outgoing.end(backup.subarray(backup.length - 50));
    const [answer] = (await once(outgoing, "response")) as [IncomingMessage];
    expect(answer.statusCode).toBe(200);
    await sender;
    for (const server of [target, second]) {
      expect(await projectsOf(server)).toEqual(["1 default", "2 other", "3 billing"]);
      expect(await sessionsOf(server, ingestKey)).toHaveLength(1);
      await until(async () => (await sessionsOf(server)).length === 2);
    }
    expect((await totalsOf(target)).turns).toBe(4);
    await target.expectHealthy();
  });
});
