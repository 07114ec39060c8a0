import pg from "pg";
import { afterEach, describe, expect, it } from "vitest";
import { migratedDatabase } from "../testing/database.ts";
import { removeHome, startTestServer, type TestServer } from "../testing/server.ts";
import { silentProxy } from "../testing/silent-proxy.ts";
import { canMount, smallDisk } from "../testing/small-disk.ts";
import { until } from "../testing/until.ts";
import { turn, unique } from "./support.ts";

const cleanUps: (() => Promise<unknown> | unknown)[] = [];
afterEach(async () => {
  for (const cleanUp of cleanUps.splice(0).reverse()) await cleanUp();
});

interface Failure {
  error: { code: string; message: string };
}

/** Why the server says that it is not ready; undefined when it is. */
async function notReady(server: TestServer): Promise<string | undefined> {
  const answer = await server.get<Failure>("/readyz");
  if (answer.status === 200) return undefined;
  expect(answer.status).toBe(503);
  expect(Number(answer.headers.get("retry-after"))).toBeGreaterThan(0);
  return answer.body.error.message;
}

const ready = (server: TestServer) => until(async () => (await notReady(server)) === undefined);

async function storedTurns(server: TestServer, session: string): Promise<number> {
  const range = { from: new Date(0).toISOString(), to: new Date(Date.now() + 1e9).toISOString() };
  const { items } = await server.trpc<{ items: { turns: number }[] }>("sessions.list", {
    ...range,
    q: session,
  });
  return items[0]?.turns ?? 0;
}

/** Sends single turns until `stop`, and counts what was acknowledged. Every other answer must be 503 with a time. */
function sender(server: TestServer, session: string) {
  let acknowledged = 0;
  let refused = 0;
  let running = true;
  const done = (async () => {
    while (running) {
      const answer = await server.send(turn(session, 1_000));
      if (answer.status === 200) acknowledged += 1;
      else {
        expect(answer.status, answer.text).toBe(503);
        expect(Number(answer.headers.get("retry-after"))).toBeGreaterThan(0);
        refused += 1;
      }
    }
  })();
  done.catch(() => {});
  return {
    counts: () => ({ acknowledged, refused }),
    async stop() {
      running = false;
      await done;
      return acknowledged;
    },
  };
}

describe("/readyz", () => {
  it.runIf(canMount)("says that the disk is full, and loses nothing", async () => {
    const disk = await smallDisk();
    cleanUps.push(() => disk.unmount());
    const server = await startTestServer({ home: disk.home, embedded: true });
    cleanUps.push(
      () => removeHome(disk.home),
      () => server.stop(),
    );
    const session = unique("session");
    const sending = sender(server, session);
    await until(() => sending.counts().acknowledged > 5);
    disk.fill();
    await until(async () => /disk is full/i.test((await notReady(server)) ?? ""));
    await disk.free();
    await ready(server);
    const before = sending.counts().acknowledged;
    await until(() => sending.counts().acknowledged > before + 5);
    const acknowledged = await sending.stop();
    await until(async () => (await storedTurns(server, session)) >= acknowledged);
    await server.expectHealthy();
  });

  it("says that the database is read-only", async () => {
    const { url, close } = await migratedDatabase();
    cleanUps.push(close);
    const server = await startTestServer({ databaseUrl: url });
    cleanUps.push(() => server.stop());
    const name = new URL(url).pathname.slice(1);
    const admin = new pg.Client({ connectionString: url });
    await admin.connect();
    cleanUps.push(() => admin.end());
    const setReadOnly = async (action: string) => {
      await admin.query(`ALTER DATABASE ${name} ${action}`);
      await admin.query(
        "SELECT pg_terminate_backend(pid, 5000) FROM pg_stat_activity WHERE datname = $1 AND application_name LIKE 'plimsoll %'",
        [name],
      );
    };
    await setReadOnly("SET default_transaction_read_only = on");
    await until(async () => /read-only/.test((await notReady(server)) ?? ""));
    const refused = await server.send(turn(unique("session"), 1_000));
    expect(refused.status, refused.text).toBe(503);
    await setReadOnly("RESET default_transaction_read_only");
    await ready(server);
    expect((await server.send(turn(unique("session"), 1_000))).status).toBe(200);
  });

  it("says that the network to the database is cut, and the server recovers", async () => {
    const { url, close } = await migratedDatabase();
    cleanUps.push(close);
    const proxy = await silentProxy(url);
    cleanUps.push(() => proxy.stop());
    const cut = await startTestServer({ databaseUrl: proxy.url });
    const other = await startTestServer({ databaseUrl: url });
    cleanUps.push(
      () => cut.stop(),
      () => other.stop(),
    );
    const session = unique("session");
    const sending = sender(cut, session);
    await until(() => sending.counts().acknowledged > 5);
    proxy.silence();
    await until(async () => (await notReady(cut)) !== undefined);
    // The other server is not held up by a transaction of the one that fell silent.
    await until(async () => (await other.send(turn(session, 1_000))).status === 200);
    proxy.resume();
    await ready(cut);
    const before = sending.counts().acknowledged;
    await until(() => sending.counts().acknowledged > before + 5);
    const acknowledged = await sending.stop();
    await until(async () => (await storedTurns(other, session)) >= acknowledged + 1);
  });
});
