import { readdir } from "node:fs/promises";
import { describe, expect, it } from "vitest";
import { layoutOf } from "../db/postgres/layout.ts";
import { findPostmaster, identifyPostmaster, isAlive } from "../db/postgres/process-identity.ts";
import { ENDED } from "../testing/ended.ts";
import { startTestServer } from "../testing/server.ts";
import { until } from "../testing/until.ts";
import { openLive } from "./live-client.ts";
import { ownHome } from "./own-home.ts";
import { turn, unique } from "./support.ts";

const { home, cleanUp, spawned, database, postmaster } = ownHome();

describe("a stop", () => {
  it.each(["SIGTERM", "SIGINT"] as const)("stops everything on %s", async (signal) => {
    const server = await spawned({});
    await until(() => server.output().includes("listening on"));
    const pid = await postmaster();
    expect(pid).toBeDefined();
    server.child.kill(signal);
    expect(await server.exited, server.output()).toBe(0);
    // Not by a signal: an exited process accepts signals until its parent has noticed.
    expect(ENDED).toContain(await identifyPostmaster(pid!, layoutOf(home()).data));
    expect(server.errors()).not.toContain("did not stop cleanly");
  });

  // The shell of an npm script keeps a signal to itself unless the script starts with `exec`.
  it.skipIf(process.platform === "win32")("stops everything on a SIGTERM to npm alone", async () => {
    const server = await spawned({}, ["npm", "start", "--ignore-scripts"]);
    await until(() => server.output().includes("listening on"));
    const pid = await postmaster();
    server.child.kill("SIGTERM");
    // Resolves when the server, too, has closed its output.
    expect(await server.exited, server.output()).toBe(0);
    expect(ENDED).toContain(await identifyPostmaster(pid!, layoutOf(home()).data));
  });

  it("stops everything on a repeated signal, as npm sends it", async () => {
    const server = await startTestServer({ home: home(), embedded: true });
    cleanUp(() => server.stop());
    const again = setInterval(() => isAlive(server.pid) && process.kill(server.pid, "SIGINT"), 20);
    cleanUp(async () => clearInterval(again));
    process.kill(server.pid, "SIGINT");
    expect(await server.stop()).toBe(0);
    expect(await postmaster()).toBeUndefined();
  });

  it("finishes its requests, ends live streams and keeps acknowledged events", async () => {
    const server = await startTestServer({ home: home(), embedded: true });
    const live = await openLive(server);
    const session = unique("session");
    const sends = Array.from({ length: 30 }, () => server.send(turn(session, 1_000)).catch(() => undefined));
    // Others are under way then.
    await Promise.race(sends);
    expect(await server.stop()).toBe(0);
    const answers = await Promise.all(sends);
    await until(() => live.ended());
    expect(await postmaster()).toBeUndefined();
    const again = await startTestServer({ home: home(), embedded: true });
    cleanUp(() => again.stop());
    await again.expectHealthy();
    const acknowledged = answers.filter((answer) => answer?.status === 200).length;
    const gauges = await again.trpc<{ items: { turns: number }[] }>("sessions.list", {
      from: new Date(0).toISOString(),
      to: new Date(Date.now() + 1e9).toISOString(),
    });
    expect(gauges.items[0]?.turns ?? 0).toBeGreaterThanOrEqual(acknowledged);
  });

  it.each<[string, () => boolean | Promise<boolean>]>([
    ["right after its launch", () => true],
    [
      "while it creates its database",
      async () => (await readdir(home())).some((name) => name.includes(".new-")),
    ],
    ["once PostgreSQL has begun to start", async () => (await postmaster()) !== undefined],
  ])("exits on a SIGTERM %s, and leaves nothing running", async (_, isReached) => {
    const server = await spawned({});
    await until(isReached);
    server.child.kill("SIGTERM");
    await server.exited;
    expect(server.errors()).not.toContain("    at ");
    expect(await findPostmaster(layoutOf(home()).data)).toBeUndefined();
    const next = await startTestServer({ home: home(), embedded: true });
    cleanUp(() => next.stop());
    await next.expectHealthy();
  });

  it("exits on SIGTERM while it waits for a PostgreSQL that recovers", async () => {
    const first = await startTestServer({ home: home(), embedded: true });
    const pid = (await postmaster())!;
    await first.kill9();
    process.kill(pid, "SIGSTOP");
    try {
      const server = await spawned({ LOG_LEVEL: "info" });
      await until(() => server.output().includes("waiting for the embedded PostgreSQL"));
      server.child.kill("SIGTERM");
      expect(await server.exited, server.output()).toBe(0);
    } finally {
      process.kill(pid, "SIGCONT");
    }
  });

  it("exits on SIGTERM while it waits for another process to migrate", async () => {
    const url = await database();
    const pg = await import("pg");
    const client = new pg.default.Client({ connectionString: url });
    await client.connect();
    cleanUp(() => client.end());
    await client.query("SELECT pg_advisory_lock($1)", [72_707_369]);
    const server = await spawned({ DATABASE_URL: url });
    await until(async () => {
      const { rows } = await client.query(
        "SELECT count(*)::int AS n FROM pg_locks WHERE locktype = 'advisory' AND NOT granted",
      );
      return rows[0].n > 0;
    });
    server.child.kill("SIGTERM");
    expect(await server.exited, server.output()).toBe(0);
  });
});
