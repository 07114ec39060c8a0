import { randomUUID } from "node:crypto";
import { once } from "node:events";
import { type AddressInfo, createServer } from "node:net";
import pg from "pg";
import { pino } from "pino";
import { afterAll, afterEach, beforeAll, describe, expect, it, vi } from "vitest";
import { type TestDatabase, testDatabase } from "../testing/database.ts";
import { until, untilPasses } from "../testing/until.ts";
import { createLiveHub, LIVE_CHANNEL, type LiveHub } from "./hub.ts";

const log = pino({ level: "silent" });
let database: TestDatabase;
let watcher: pg.Client;
let payloads: string[] = [];
const hubs: LiveHub[] = [];

beforeAll(async () => {
  database = await testDatabase();
  watcher = new pg.Client({ connectionString: database.url });
  await watcher.connect();
  await watcher.query(`LISTEN ${LIVE_CHANNEL}`);
  watcher.on("notification", ({ payload }) => payloads.push(payload ?? ""));
});
afterEach(async () => {
  await Promise.all(hubs.splice(0).map((hub) => hub.stop()));
  // PostgreSQL delivers in order of commit: after this one, nothing of this test is still on its way.
  await watcher.query(`NOTIFY ${LIVE_CHANNEL}, 'test over'`);
  await untilPasses(() => expect(payloads.at(-1)).toBe("test over"));
  payloads = [];
});
afterAll(async () => {
  await watcher.end();
  await database.close();
});

async function openHub(intervalMs?: number): Promise<LiveHub> {
  const hub = createLiveHub({ connectionString: database.url, log, intervalMs });
  hubs.push(hub);
  await hub.ready;
  return hub;
}

function listen(hub: LiveHub, projectId = 1) {
  const heard: (string[] | null)[] = [];
  const end = hub.subscribe(projectId, (sessions) => heard.push(sessions));
  return { heard, end };
}

const cut = () =>
  watcher.query(
    "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = 'plimsoll listen' AND datname = current_database()",
  );

describe("the live hub", () => {
  it("tells its own subscribers at once, and those of another process soon", async () => {
    const [a, b] = [await openHub(), await openHub()];
    const here = listen(a);
    const there = listen(b);
    const otherProject = listen(b, 2);
    a.changed(1, ["s1"]);
    expect(here.heard).toEqual([["s1"]]);
    await untilPasses(() => expect(there.heard).toEqual([["s1"]]));
    b.changed(1, ["s2"]);
    await untilPasses(() => expect(here.heard).toEqual([["s1"], ["s2"]]));
    expect(there.heard).toEqual([["s1"], ["s2"]]);
    expect(otherProject.heard).toEqual([]);
    there.end();
    a.changed(1, ["s3"]);
    await untilPasses(() => expect(payloads.filter((text) => text.includes("changes"))).toHaveLength(3));
    expect(there.heard).toHaveLength(2);
  });

  it("knows which projects are watched, in this process and in others", async () => {
    const [a, b] = [await openHub(), await openHub()];
    expect(a.isWatched(1)).toBe(false);
    const there = listen(b);
    expect(b.isWatched(1)).toBe(true);
    await untilPasses(() => expect(a.isWatched(1)).toBe(true));
    expect(a.isWatched(2)).toBe(false);
    there.end();
    expect(b.isWatched(1)).toBe(false);
  });

  it("sends twenty messages a second however much changes, and leaves nothing out", async () => {
    const [a, b] = [await openHub(), await openHub()];
    const there = listen(b);
    const sent: string[] = [];
    const started = performance.now();
    while (performance.now() - started < 500) {
      const id = `s${sent.length % 100}`;
      sent.push(id);
      a.changed(1, [id]);
      if (sent.length % 100 === 0) await new Promise((resolve) => setTimeout(resolve, 1));
    }
    const all = new Set(sent);
    await untilPasses(() => expect(new Set(there.heard.flat())).toEqual(all));
    expect(sent.length).toBeGreaterThan(1_000);
    expect(payloads.length).toBeLessThanOrEqual((performance.now() - started) / 50 + 2);
    expect(payloads.length).toBeGreaterThanOrEqual(3);
  });

  it("names no session when there are too many to name", async () => {
    const [a, b] = [await openHub(), await openHub()];
    const there = listen(b);
    a.changed(
      1,
      Array.from({ length: 5_000 }, () => randomUUID()),
    );
    await untilPasses(() => expect(there.heard).toEqual([null]));
    expect(payloads[0]!.length).toBeLessThan(200);
  });

  it("comes back after its connection was cut, tells everybody to refetch, and delivers what waited", async () => {
    const [a, b] = [await openHub(), await openHub()];
    const here = listen(a);
    const there = listen(b);
    const ended: (string | null)[] = [];
    b.onInvalidate((hash) => ended.push(hash));
    await cut();
    await untilPasses(() => expect(a.connected() || b.connected()).toBe(false));
    // Said while nobody is connected.
    a.changed(1, ["meanwhile"]);
    a.invalidateKey("ab");
    expect(here.heard[0]).toEqual(["meanwhile"]);
    await untilPasses(() => expect(a.connected() && b.connected()).toBe(true));
    await untilPasses(() => {
      expect(here.heard).toContain(null);
      expect(there.heard).toContain(null);
      expect(ended).toContain(null);
      expect(payloads.some((text) => text.includes("meanwhile"))).toBe(true);
      expect(payloads.some((text) => text.includes('"ended":"ab"'))).toBe(true);
    });
    a.changed(1, ["after"]);
    await untilPasses(() => expect(there.heard.at(-1)).toEqual(["after"]));
  });

  it("tells the other processes that a key ended", async () => {
    const [a, b] = [await openHub(), await openHub()];
    const [here, there]: (string | null)[][] = [[], []];
    a.onInvalidate((hash) => here!.push(hash));
    b.onInvalidate((hash) => there!.push(hash));
    a.invalidateKey("c0ffee");
    await untilPasses(() => expect(there).toEqual(["c0ffee"]));
    expect(here).toEqual([]);
  });

  it("tells the other processes that projects changed, late if it must", async () => {
    const [a, b] = [await openHub(), await openHub()];
    const [here, there] = [vi.fn(), vi.fn()];
    a.onProjectsChanged(here);
    const end = b.onProjectsChanged(there);
    a.projectsChanged();
    await untilPasses(() => expect(there).toHaveBeenCalledTimes(1));
    expect(here).not.toHaveBeenCalled();
    const lost = vi.fn();
    a.onLost(lost);
    await cut();
    await untilPasses(() => expect(lost).toHaveBeenCalled());
    a.projectsChanged();
    await untilPasses(() => expect(payloads.filter((text) => text.includes('"projects"'))).toHaveLength(2));
    // Whatever was announced meanwhile is lost, so a new connection counts as a change.
    await untilPasses(() => expect(there.mock.calls.length).toBeGreaterThan(1));
    end();
    const calls = there.mock.calls.length;
    a.projectsChanged();
    await untilPasses(() =>
      expect(payloads.filter((text) => text.includes('"projects"')).length).toBeGreaterThan(2),
    );
    expect(there).toHaveBeenCalledTimes(calls);
  });

  it("survives a subscriber that throws and a message it cannot read", async () => {
    const [a, b] = [await openHub(), await openHub()];
    b.subscribe(1, () => {
      throw new Error("broken");
    });
    const there = listen(b);
    await watcher.query("SELECT pg_notify($1, 'what is this')", [LIVE_CHANNEL]);
    a.changed(1, ["s1"]);
    await untilPasses(() => expect(there.heard).toEqual([["s1"]]));
  });

  it("sends what is left when it stops", async () => {
    const hub = await openHub(60_000);
    hub.changed(1, ["first"]);
    hub.changed(1, ["last"]);
    await hub.stop();
    await untilPasses(() => expect(payloads.some((text) => text.includes("last"))).toBe(true));
    hub.changed(1, ["too late"]);
  });

  it("keeps trying while there is no database, and stops when told", async () => {
    let tries = 0;
    const refusing = createServer((socket) => {
      tries += 1;
      socket.destroy();
    });
    await once(refusing.listen(0, "127.0.0.1"), "listening");
    const { port } = refusing.address() as AddressInfo;
    const hub = createLiveHub({ connectionString: `postgresql://nobody@127.0.0.1:${port}/none`, log });
    const { heard } = listen(hub);
    hub.changed(1, ["s1"]);
    expect(heard).toEqual([["s1"]]);
    await until(() => tries >= 2);
    expect(hub.connected()).toBe(false);
    await hub.stop();
    refusing.close();
  });
});
