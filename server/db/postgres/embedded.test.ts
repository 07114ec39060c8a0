import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync, readdirSync, statSync } from "node:fs";
import { chmod, chown, mkdir, mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";
import pg from "pg";
import { pino } from "pino";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { ENDED } from "../../testing/ended.ts";
import { until } from "../../testing/until.ts";
import { openDatabase } from "../client.ts";
import { databaseUser } from "./database-user.ts";
import { type EmbeddedDatabase, startEmbedded } from "./embedded.ts";
import { layoutOf } from "./layout.ts";
import { identifyPostmaster, isAlive } from "./process-identity.ts";

const log = pino({ level: "silent" });
const user = await databaseUser(log);
const root = user !== undefined;

let home: string;
let started: EmbeddedDatabase[];
let children: ChildProcess[];

beforeEach(async () => {
  home = await mkdtemp(join(tmpdir(), "plimsoll-embedded-"));
  await chmod(home, 0o711);
  started = [];
  children = [];
});

afterEach(async () => {
  for (const child of children) if (child.exitCode === null) child.kill("SIGKILL");
  for (const database of started) await database.stop();
  // A server orphaned by a killed child is joined, and stopped by leaving it.
  if (existsSync(join(layoutOf(home).data, "postmaster.pid")))
    await (await startEmbedded({ home, log })).stop();
  await rm(home, { recursive: true, force: true });
});

async function start(): Promise<EmbeddedDatabase> {
  const database = await startEmbedded({ home, log });
  started.push(database);
  return database;
}

interface Child {
  process: ChildProcess;
  pid: number;
  adopted: boolean;
  url: string;
  stop(): Promise<void>;
}

function spawnChild() {
  const script = fileURLToPath(new URL("../../testing/embedded-child.ts", import.meta.url));
  const child = spawn(process.execPath, ["--import", "tsx", script, home], {
    stdio: ["pipe", "pipe", "inherit"],
  });
  children.push(child);
  return child;
}

async function startChild(): Promise<Child> {
  const child = spawnChild();
  const [line] = await once(createInterface(child.stdout!), "line");
  return {
    process: child,
    ...JSON.parse(line),
    async stop() {
      child.stdin!.end();
      await once(child, "exit");
    },
  };
}

async function query(url: string, sql: string) {
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  return client.query(sql).finally(() => client.end());
}

describe("a first start", () => {
  it("creates a durable database that only its owner can read, and stops it completely", async () => {
    const database = await start();
    const pid = database.pid()!;
    expect(database.adopted).toBe(false);
    const { rows } = await query(
      database.adminUrl,
      `SELECT name, setting FROM pg_settings WHERE name IN ('fsync', 'synchronous_commit', 'full_page_writes',
       'data_checksums', 'listen_addresses', 'password_encryption', 'dynamic_shared_memory_type', 'ssl')`,
    );
    expect(Object.fromEntries(rows.map(({ name, setting }) => [name, setting]))).toEqual({
      fsync: "on",
      synchronous_commit: "on",
      full_page_writes: "on",
      data_checksums: "on",
      listen_addresses: "",
      password_encryption: "scram-sha-256",
      dynamic_shared_memory_type: "mmap",
      ssl: "off",
    });
    const layout = layoutOf(home);
    expect(statSync(layout.password).mode & 0o777).toBe(0o600);
    expect(statSync(layout.data).mode & 0o777).toBe(0o700);
    expect(statSync(layout.data).uid).toBe(user?.uid ?? process.getuid!());
    await database.stop();
    expect(ENDED).toContain(await identifyPostmaster(pid, layout.data));
    expect(existsSync(join(layout.data, "postmaster.pid"))).toBe(false);
  });

  it("lets the application's role own its database and nothing else", async () => {
    const database = await start();
    await query(database.url, "CREATE TABLE t (id int)");
    const { rows } = await query(
      database.url,
      "SELECT rolsuper, rolcreatedb FROM pg_roles WHERE rolname = current_user",
    );
    expect(rows).toEqual([{ rolsuper: false, rolcreatedb: false }]);
    const wrong = database.url.replace(/:[^:@/]+@/, ":wrong@");
    await expect(query(wrong, "SELECT 1")).rejects.toMatchObject({ code: "28P01" });
  });

  it("sets aside the files of an interrupted one, and deletes nothing", async () => {
    const layout = layoutOf(home);
    await mkdir(layout.data, { recursive: true });
    if (user) await chown(layout.data, user.uid, user.gid);
    await writeFile(join(layout.data, "PG_VERSION"), "18\n");
    // A pid that cannot exist: the maker is gone.
    await mkdir(`${layout.cluster}.new-4194999-abcdef`);
    const database = await start();
    await query(database.url, "SELECT 1");
    const aside = readdirSync(home).filter((name) => name.startsWith("postgres.incomplete-"));
    expect(aside).toHaveLength(2);
    expect(aside.some((name) => existsSync(join(home, name, "data", "PG_VERSION")))).toBe(true);
    expect(readdirSync(home).filter((name) => name.includes(".new-"))).toEqual([]);
  });

  it("that is ended by a signal leaves nothing behind", async () => {
    const ended = new AbortController();
    const starting = startEmbedded({ home, log, signal: ended.signal }).catch((error) => error);
    const inTheMiddle = (name: string) => existsSync(join(home, name, "data", "base"));
    await until(() => readdirSync(home).some(inTheMiddle));
    ended.abort();
    expect(await starting).toMatchObject({ code: "stopped" });
    expect(readdirSync(home)).toEqual([]);
  });

  it("that is killed is no reason to refuse the next one", async () => {
    const child = spawnChild();
    const inTheMiddle = (name: string) => existsSync(join(home, name, "data", "base"));
    await until(() => readdirSync(home).some(inTheMiddle));
    child.kill("SIGKILL");
    await once(child, "exit");
    await query((await start()).url, "SELECT 1");
    expect(readdirSync(home).filter((name) => name.startsWith("postgres.incomplete-"))).toHaveLength(1);
  });

  it("by several processes at once results in one server", async () => {
    const [a, b, c] = await Promise.all([startChild(), startChild(), startChild()]);
    expect(new Set([a.pid, b.pid, c.pid]).size).toBe(1);
    expect([a, b, c].filter(({ adopted }) => !adopted)).toHaveLength(1);
    expect(new Set([a.url, b.url, c.url]).size).toBe(1);
    expect(readdirSync(home).sort()).toEqual(["database-id", "postgres"]);
    await a.stop();
    await b.stop();
    expect(isAlive(a.pid)).toBe(true);
    await query(c.url, "SELECT 1");
    await c.stop();
    expect(ENDED).toContain(await identifyPostmaster(a.pid, layoutOf(home).data));
  });
});

describe("a later start", () => {
  it("finds the data and the same password", async () => {
    const first = await start();
    await query(first.url, "CREATE TABLE kept AS SELECT 1 AS id");
    await first.stop();
    const second = await start();
    expect(second.adopted).toBe(false);
    expect(second.url).toBe(first.url);
    expect((await query(second.url, "SELECT id FROM kept")).rows).toEqual([{ id: 1 }]);
  });

  it("joins the server of a process that was killed, and stops it at the end", async () => {
    const child = await startChild();
    await query(child.url, "CREATE TABLE kept AS SELECT 7 AS id");
    child.process.kill("SIGKILL");
    await once(child.process, "exit");
    expect(isAlive(child.pid)).toBe(true);
    const database = await start();
    expect(database.adopted).toBe(true);
    expect(database.pid()).toBe(child.pid);
    expect((await query(database.url, "SELECT id FROM kept")).rows).toEqual([{ id: 7 }]);
    await database.stop();
    // Not isAlive: in a container without an init nobody asks after an orphan, and its number stays taken.
    expect(ENDED).toContain(await identifyPostmaster(child.pid, database.dataDirectory));
  });

  it("leaves another program alone that has the old process id", async () => {
    const first = await start();
    await first.stop();
    const layout = layoutOf(home);
    // As the same user as PostgreSQL: then it takes the pid for its own and refuses to start by itself.
    const stranger = spawn("sleep", ["60"], { stdio: "ignore", ...user });
    children.push(stranger);
    const file = join(layout.data, "postmaster.pid");
    await writeFile(
      file,
      [stranger.pid, layout.data, 1, 5432, layout.socket, "", "  1 1", "ready   ", ""].join("\n"),
      {
        mode: 0o600,
      },
    );
    if (user) await chown(file, user.uid, user.gid);
    const second = await start();
    await query(second.url, "SELECT 1");
    expect(second.adopted).toBe(false);
    expect(readdirSync(layout.data).filter((name) => name.startsWith("postmaster.pid.stale-"))).toHaveLength(
      1,
    );
    await second.stop();
    expect(stranger.exitCode).toBeNull();
    expect(isAlive(stranger.pid!)).toBe(true);
  });
});

describe("a server that dies", () => {
  it("is started again, the pool recovers, and nothing committed is lost", async () => {
    const database = await start();
    const prisma = openDatabase({ url: database.url, poolSize: 3, log });
    await prisma.$executeRaw`CREATE TABLE acked (id int PRIMARY KEY)`;
    for (let i = 0; i < 50; i++) await prisma.$executeRaw`INSERT INTO acked VALUES (${i})`;
    const pid = database.pid()!;
    expect(await identifyPostmaster(pid, database.dataDirectory)).toBe("ours");
    process.kill(pid, "SIGKILL");
    await until(() => database.pid() !== undefined && database.pid() !== pid);
    const count = async () => {
      const [row] = await prisma.$queryRaw<{ n: number }[]>`SELECT count(*)::int AS n FROM acked`;
      return row!.n;
    };
    await until(() =>
      count().then(
        (n) => n === 50,
        () => false,
      ),
    );
    await prisma.$disconnect();
    const next = database.pid()!;
    await database.stop();
    // Not by a signal: one that has exited takes signals until Node has heard of it.
    expect(ENDED).toContain(await identifyPostmaster(next, database.dataDirectory));
  });

  it("is started once when several processes use it", async () => {
    const child = await startChild();
    const database = await start();
    expect(database.adopted).toBe(true);
    process.kill(child.pid, "SIGKILL");
    await until(() => database.pid() !== undefined && database.pid() !== child.pid);
    await query(child.url, "SELECT 1");
    // Were the other process still on its way back, we would be the last, and would rightly end the server.
    await until(async () => {
      const { rows } = await query(
        child.url,
        "SELECT count(*)::int AS n FROM pg_locks WHERE locktype = 'advisory' AND mode = 'ShareLock' AND granted",
      );
      return rows[0].n === 2;
    });
    await database.stop();
    await query(child.url, "SELECT 1");
    await child.stop();
    await expect(query(child.url, "SELECT 1")).rejects.toThrow();
  });

  it("stays down when Plimsoll stops while it is being started again", async () => {
    const database = await start();
    process.kill(database.pid()!, "SIGKILL");
    await until(() => database.pid() === undefined);
    await database.stop();
    const text = await readFile(join(database.dataDirectory, "postmaster.pid"), "utf8").catch(() => "");
    const pid = Number.parseInt(text, 10);
    if (pid > 0) expect(await identifyPostmaster(pid, database.dataDirectory)).not.toBe("ours");
  });
});

describe("a folder that cannot be used", () => {
  it("is named with a remedy", async () => {
    const file = join(home, "file");
    await writeFile(file, "");
    const error = await startEmbedded({ home: join(file, "home"), log }).catch((e) => e);
    expect(error).toMatchObject({ code: "data_folder_unwritable", hint: /PLIMSOLL_HOME/ });
    expect(error.message).toContain(file);
  });

  it.runIf(root)("as root must be passable for PostgreSQL's user", async () => {
    await chmod(home, 0o700);
    const error = await startEmbedded({ home: join(home, "inner"), log }).catch((e) => e);
    expect(error).toMatchObject({ code: "root_unsupported", hint: /\/var\/lib\/plimsoll/ });
  });

  it.skipIf(root)("must be writable", async () => {
    await chmod(home, 0o500);
    await expect(startEmbedded({ home: join(home, "inner"), log })).rejects.toMatchObject({
      code: "data_folder_unwritable",
      message: /permission denied/,
    });
    await chmod(home, 0o711);
  });

  it.runIf(root)("may not belong to another user", async () => {
    const { data } = layoutOf(home);
    await mkdir(data, { recursive: true });
    await chown(data, 12_345, 12_345);
    await expect(startEmbedded({ home, log })).rejects.toMatchObject({
      code: "data_folder_unwritable",
      message: /another user \(uid 12345\)/,
    });
  });

  it("must not hold data of another version", async () => {
    const database = await start();
    await database.stop();
    await writeFile(join(database.dataDirectory, "PG_VERSION"), "17\n");
    await expect(startEmbedded({ home, log })).rejects.toMatchObject({
      code: "database_unsafe",
      message: /PostgreSQL 17/,
    });
  });
});
