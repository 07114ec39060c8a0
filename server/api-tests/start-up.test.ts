import { existsSync } from "node:fs";
import { readFile, rename, rm, writeFile } from "node:fs/promises";
import { createServer, type Server } from "node:net";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { layoutOf } from "../db/postgres/layout.ts";
import { hasPgbouncer, startPgbouncer } from "../testing/pgbouncer.ts";
import { startTestServer } from "../testing/server.ts";
import { until } from "../testing/until.ts";
import { openLive } from "./live-client.ts";
import { ownHome } from "./own-home.ts";
import { turn, unique } from "./support.ts";

const { home, cleanUp, spawned, database, postmaster } = ownHome();

/** Starts a server that must fail to start, and returns the lines of its explanation. */
async function failing(env: Record<string, string>): Promise<string[]> {
  const server = await spawned(env);
  expect(await server.exited, server.output()).toBe(1);
  const errors = server
    .errors()
    .split("\n")
    .filter((line) => line.trim() !== "" && !/DeprecationWarning|--trace-deprecation/.test(line));
  expect(server.output()).not.toContain("    at ");
  expect(server.output()).not.toContain("listening on");
  return errors;
}

async function occupied(): Promise<{ port: number; server: Server }> {
  const server = createServer();
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  cleanUp(() => new Promise((resolve) => server.close(resolve)));
  return { port: (server.address() as { port: number }).port, server };
}

describe("a start that cannot succeed", () => {
  it("names the port that is in use and how to set another, before it creates a database", async () => {
    const { port } = await occupied();
    const lines = await failing({ PORT: String(port) });
    expect(lines).toEqual([
      `Port ${port} on 127.0.0.1 is in use.`,
      expect.stringContaining(`PORT=${port + 1}`),
    ]);
    expect(existsSync(layoutOf(home()).data)).toBe(false);
  });

  it("leaves the PostgreSQL of another Plimsoll alone when its port is in use", async () => {
    const first = await startTestServer({ home: home(), embedded: true });
    cleanUp(() => first.stop());
    const before = await postmaster();
    await failing({ PORT: new URL(first.url).port });
    expect(await postmaster()).toBe(before);
    expect((await first.send(turn(unique("session"), 1_000))).status).toBe(200);
    await first.expectHealthy();
  });

  it("says which folder it cannot write to", async () => {
    const file = join(home(), "a-file");
    await writeFile(file, "");
    const lines = await failing({ PLIMSOLL_HOME: join(file, "data") });
    expect(lines).toHaveLength(2);
    expect(lines[0]).toContain(join(file, "data"));
    expect(lines[1]).toContain("PLIMSOLL_HOME");
  });

  it("says that nothing answers at DATABASE_URL, without repeating its password", async () => {
    const { port, server } = await occupied();
    server.close();
    const lines = await failing({ DATABASE_URL: `postgresql://someone:hunter2@127.0.0.1:${port}/plimsoll` });
    expect(lines).toHaveLength(2);
    expect(lines[0]).toContain(`Nothing answers at 127.0.0.1:${port}`);
    expect(lines[1]).toContain("DATABASE_URL");
    expect(lines.join()).not.toContain("hunter2");
  });

  it("names a missing database, and a port that is not PostgreSQL", async () => {
    const url = new URL(await database());
    const missing = new URL(url);
    missing.pathname = "/not_there";
    expect((await failing({ DATABASE_URL: missing.href }))[0]).toContain("not_there does not exist");
    const { port, server } = await occupied();
    server.on("connection", (socket) => socket.resume().end("HTTP/1.1 400 Bad Request\r\n\r\n"));
    const lines = await failing({ DATABASE_URL: `postgresql://u:p@127.0.0.1:${port}/plimsoll` });
    expect(lines.join(" ")).toContain(`127.0.0.1:${port}`);
  });

  it("names every wrong setting and what is allowed", async () => {
    const lines = await failing({ PORT: "http", LOG_LEVEL: "loud", DATABASE_URL: "mysql://u:hunter2@h/d" });
    expect(lines.slice(0, -1).sort()).toEqual([
      expect.stringMatching(/^DATABASE_URL must be postgresql:/),
      expect.stringMatching(/^LOG_LEVEL must be one of .*, not "loud"\.$/),
      expect.stringMatching(/^PORT must be a whole number .*, not "http"\.$/),
    ]);
    expect(lines.at(-1)).toContain(".env.example");
    expect(lines.join()).not.toContain("hunter2");
  });

  it.each(["0.0.0.0", "::", "192.168.1.7"])("names all that it needs to listen on %s", async (address) => {
    const lines = await failing({ PLIMSOLL_LISTEN: address });
    const needs = `PLIMSOLL_LISTEN=${address} lets other machines connect, which needs `;
    expect(lines.slice(0, 3).every((line) => line.startsWith(needs))).toBe(true);
    expect(lines[0]).toContain("PLIMSOLL_ACCESS_TOKEN");
    expect(lines[1]).toContain("PLIMSOLL_TLS_CERT");
    expect(lines[2]).toContain("PLIMSOLL_PUBLIC_URL");
    expect(await postmaster()).toBeUndefined();
  });

  it("does not listen on a port that browsers block", async () => {
    const lines = await failing({ PORT: "6000" });
    expect(lines[0]).toMatch(
      /^PORT must be a port that browsers connect to: they block this one.*not "6000"/,
    );
    expect(await postmaster()).toBeUndefined();
  });

  it("names the file of a certificate that it cannot use", async () => {
    const lines = await failing({ PLIMSOLL_TLS_CERT: "/no/cert.pem", PLIMSOLL_TLS_KEY: "/no/key.pem" });
    expect(lines[0]).toBe("The TLS certificate cannot be used: /no/cert.pem: there is no such file.");
    expect(await postmaster()).toBeUndefined();
  });

  it.skipIf(!hasPgbouncer)("names a pooler that gives connections no session of their own", async () => {
    const pooler = await startPgbouncer(await database(), { pool_mode: "transaction" });
    cleanUp(() => pooler.stop());
    const lines = await failing({ DATABASE_URL: pooler.url });
    expect(lines).toEqual([
      `Plimsoll does not use ${pooler.url}: a pooler in front of it does not give each connection a session of its own.`,
      expect.stringContaining("pool_mode = session"),
    ]);
  });

  it("says that a database is newer than this Plimsoll", async () => {
    const url = await database();
    const first = await startTestServer({ databaseUrl: url });
    cleanUp(() => first.stop());
    const pg = await import("pg");
    const client = new pg.default.Client({ connectionString: url });
    await client.connect();
    await client.query(
      `INSERT INTO _prisma_migrations (id, checksum, migration_name, finished_at, applied_steps_count)
       VALUES ('x', 'x', '9999_future', now(), 1)`,
    );
    await client.end();
    const lines = await failing({ DATABASE_URL: url });
    expect(lines.join(" ")).toContain("newer Plimsoll (9999_future)");
  });
});

describe.skipIf(!hasPgbouncer)("a pooler with a session for each connection", () => {
  it("is used like the database itself", async () => {
    const pooler = await startPgbouncer(await database(), { pool_mode: "session", default_pool_size: "40" });
    cleanUp(() => pooler.stop());
    const servers = [];
    for (const _ of [1, 2]) {
      const server = await startTestServer({ databaseUrl: pooler.url });
      cleanUp(() => server.stop());
      servers.push(server);
    }
    const live = await openLive(servers[0]!);
    cleanUp(() => live.close());
    await live.hears(null);
    expect((await servers[1]!.send(turn(unique("session"), 1_000))).status).toBe(200);
    await until(() => live.messages.some((one) => one.type === "changed" && one.sessions !== null));
    await servers[0]!.expectHealthy();
  });
});

describe("a home whose database is gone", () => {
  it("is refused with what to do, and starts with its data when the database is back", async () => {
    const first = await startTestServer({ home: home(), embedded: true });
    expect((await first.send(turn(unique("session"), 1_000))).status).toBe(200);
    await first.stop();
    const { cluster, record, localToken } = layoutOf(home());
    await rename(cluster, `${cluster}.elsewhere`);
    const lines = await failing({});
    expect(lines).toEqual([
      `${cluster} is missing.`,
      `If it is on another disk, mount that disk. Otherwise restore a backup. ${record} shows that ${home()} had a database.`,
      `To start with an empty database, run: rm -f '${record}' '${localToken}'`,
    ]);
    await rename(`${cluster}.elsewhere`, cluster);
    const again = await startTestServer({ home: home(), embedded: true });
    cleanUp(() => again.stop());
    const sessions = await again.trpc<{ items: unknown[] }>("sessions.list", {
      from: new Date(0).toISOString(),
      to: new Date(Date.now() + 1e9).toISOString(),
    });
    expect(sessions.items).toHaveLength(1);
  });

  it("is refused if its database is an external one and DATABASE_URL is no longer set", async () => {
    const first = await startTestServer({ home: home(), databaseUrl: await database() });
    await first.stop();
    const lines = await failing({});
    expect(lines[0]).toBe(`${layoutOf(home()).cluster} is missing.`);
    expect(lines[1]).toContain("set DATABASE_URL");
  });
});

describe("a home with a lost password file", () => {
  it("is refused with the name of the file and a remedy, and keeps its data", async () => {
    const first = await startTestServer({ home: home(), embedded: true });
    expect((await first.send(turn(unique("session"), 1_000))).status).toBe(200);
    await first.stop();
    const { password } = layoutOf(home());
    const secret = await readFile(password);
    await rm(password);
    const lines = await failing({});
    expect(lines[0]).toBe(`${password} is missing.`);
    expect(lines[1]).toContain("backup");
    await writeFile(password, secret, { mode: 0o600 });
    const again = await startTestServer({ home: home(), embedded: true });
    cleanUp(() => again.stop());
    const sessions = await again.trpc<{ items: unknown[] }>("sessions.list", {
      from: new Date(0).toISOString(),
      to: new Date(Date.now() + 1e9).toISOString(),
    });
    expect(sessions.items).toHaveLength(1);
  });
});
