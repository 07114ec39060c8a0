import type { CreatedKey, FleetStatus, SessionPage, Spending } from "@plimsoll/protocol/api";
import pg from "pg";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { migratedDatabase } from "../testing/database.ts";
import { startTestServer, type TestServer } from "../testing/server.ts";
import { until, untilPasses } from "../testing/until.ts";
import { caughtUp, dayRange, rangeQuery, START, sendAndWait, turn, unique } from "./support.ts";

let database: Awaited<ReturnType<typeof migratedDatabase>>;
let client: pg.Client;
let servers: TestServer[];
const held: number[] = [];

beforeEach(async () => {
  database = await migratedDatabase();
  client = new pg.Client({ connectionString: database.url });
  await client.connect();
  servers = [];
});
afterEach(async () => {
  for (const pid of held.splice(0)) process.kill(pid, "SIGCONT");
  await client.query("ROLLBACK");
  await Promise.all(servers.map((server) => server.stop()));
  await client.end();
  await database.close();
});

async function start(): Promise<TestServer> {
  const server = await startTestServer({ databaseUrl: database.url });
  servers.push(server);
  return server;
}

const turnsOf = async (server: TestServer, session: string) =>
  (await server.trpc<SessionPage>("sessions.list", { ...dayRange, q: session })).items[0]?.turns ?? 0;
const costOf = async (server: TestServer) =>
  (await server.trpc<Spending>("spending.days", dayRange)).days.reduce((sum, day) => sum + day.cost_usd, 0);
/** What the server tells the agent of a session of its own level. */
async function toldLevel(server: TestServer, session: string): Promise<number> {
  const { secret } = await server.mutate<CreatedKey>("keys.create", {
    ...{ name: unique("key"), scopes: ["self"], harness: "phantom@api" },
  });
  const call = { name: "headroom", arguments: { detail: true } };
  const { text } = await server.request("/api/v1/mcp", {
    method: "POST",
    headers: {
      ...{ authorization: `Bearer ${secret}`, "plimsoll-session": session },
      ...{ "content-type": "application/json", accept: "application/json, text/event-stream" },
    },
    body: JSON.stringify({ jsonrpc: "2.0", id: 1, method: "tools/call", params: call }),
  });
  return Number(/counted\\":(\d+)/.exec(text)?.[1]);
}
let sent = 0;
const batch = (session: string, count: number) =>
  Array.from({ length: count }, (_, n) =>
    turn(session, 1_000 + n, { at: START + 10 * ++sent, cost_usd: 0.25 }),
  );

describe("a server that is paused while it projects", () => {
  it("is replaced, holds up no read, and writes nothing when it wakes", async () => {
    const paused = await start();
    const session = unique("session");
    expect((await sendAndWait(paused, batch(session, 10))).body.accepted).toBe(10);
    const other = await start();
    const under = Array.from({ length: 8 }, () => paused.send(batch(session, 500)).catch(() => undefined));
    await until(async () => (await client.query("SELECT FROM journal LIMIT 1")).rowCount === 1);
    process.kill(paused.pid, "SIGSTOP");
    held.push(paused.pid);

    const last = unique("session");
    const again = batch(last, 5);
    const waited = sendAndWait(other, again);
    const read = await other.get<FleetStatus>(`/api/v1/status?${rangeQuery}`);
    expect(read.status, read.text).toBe(200);
    // A slow machine answers before the other server has taken over.
    expect((await waited).body).toMatchObject({ accepted: 5 });
    await caughtUp(other);

    const { rows: before } = await client.query("SELECT holder, epoch FROM projectors");
    process.kill(held.pop()!, "SIGCONT");
    const answers = await Promise.all(under);
    const acknowledged = answers.reduce(
      (sum, answer) => sum + (answer?.status === 200 ? answer.body.accepted : 0),
      10,
    );
    // The first request after the pause finds out that another server took over.
    expect((await paused.send(again)).status).toBe(200);
    await caughtUp(paused);
    expect((await sendAndWait(paused, again)).body).toMatchObject({ accepted: 0, duplicates: 5 });
    const { rows: after } = await client.query("SELECT holder, epoch FROM projectors");
    expect(after).toEqual(before);
    await caughtUp(other);
    expect(await turnsOf(other, session)).toBeGreaterThanOrEqual(acknowledged);
    for (const server of [paused, other]) {
      // A batch without an answer may still arrive.
      await untilPasses(async () =>
        expect(await costOf(server)).toBe(0.25 * ((await turnsOf(server, session)) + again.length)),
      );
      expect(await toldLevel(server, last)).toBe(1_004);
    }
    await other.expectHealthy();
    await paused.expectHealthy();
  });
});

describe("SIGTERM with a full queue", () => {
  it("ends the server in time, and the next one projects what was acknowledged", async () => {
    const stopping = await start();
    const session = unique("session");
    expect((await sendAndWait(stopping, batch(session, 10))).body.accepted).toBe(10);
    await client.query("BEGIN");
    await client.query("LOCK TABLE turn_blocks IN ACCESS EXCLUSIVE MODE");
    let acknowledged = 10;
    const under = Array.from({ length: 60 }, async () => {
      const answer = await stopping.send(batch(session, 1_000)).catch(() => undefined);
      if (answer?.status === 200) acknowledged += answer.body.accepted;
      else if (answer !== undefined) expect(answer.status).toBe(503);
    });
    await until(() => acknowledged > 10_000);

    await stopping.stop();
    await Promise.all(under);
    await client.query("ROLLBACK");

    const next = await start();
    expect((await next.send(batch(unique("session"), 1))).status).toBe(200);
    await caughtUp(next);
    expect(await turnsOf(next, session)).toBe(acknowledged);
    await next.expectHealthy();
  });
});
