import { readdirSync } from "node:fs";
import { chmod, cp, mkdir, mkdtemp, readFile, rm, symlink, truncate, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import pg from "pg";
import { pino } from "pino";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { databaseUser } from "./database-user.ts";
import { type EmbeddedDatabase, startEmbedded } from "./embedded.ts";
import { type HomeLayout, layoutOf } from "./layout.ts";
import { findPostmaster } from "./process-identity.ts";

const log = pino({ level: "silent" });

/** Milliseconds in which a start must have explained itself. */
const EXPLAINED = 10_000;

let used: string;
let home: string;
let layout: HomeLayout;
let started: EmbeddedDatabase[];

const makeHome = async () => {
  const folder = await mkdtemp(join(tmpdir(), "plimsoll-damaged-"));
  await chmod(folder, 0o711);
  return folder;
};

beforeAll(async () => {
  used = await makeHome();
  const database = await startEmbedded({ home: used, log });
  await query(database.url, "CREATE TABLE kept AS SELECT 7 AS id");
  await database.stop();
});
afterAll(() => rm(used, { recursive: true, force: true }));

beforeEach(async () => {
  home = await makeHome();
  layout = layoutOf(home);
  started = [];
});
afterEach(async () => {
  for (const database of started) await database.stop();
  await rm(home, { recursive: true, force: true });
});

async function query(url: string, sql: string) {
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  return client.query(sql).finally(() => client.end());
}

/** A home that has been in use and was stopped. */
const copyHome = () =>
  cp(used, home, { recursive: true, preserveTimestamps: true, verbatimSymlinks: true }).then(own);

/** `cp` makes its caller the owner. */
async function own(): Promise<void> {
  const user = await databaseUser(log);
  if (user === undefined) return;
  const { execFileSync } = await import("node:child_process");
  execFileSync("chown", ["-R", `${user.uid}:${user.gid}`, layout.data, layout.socket]);
  execFileSync("chmod", ["711", home]);
}

async function start(): Promise<EmbeddedDatabase> {
  const database = await startEmbedded({ home, log });
  started.push(database);
  return database;
}

async function kept(database: EmbeddedDatabase): Promise<unknown> {
  return (await query(database.url, "SELECT id FROM kept")).rows;
}

const setAside = () => readdirSync(home).filter((name) => name.includes("incomplete"));
const inData = (name: string) => (at: HomeLayout) => join(at.data, name);

type Damage = [what: string, file: (at: HomeLayout) => string, damage: (path: string) => Promise<unknown>];

const remove = (path: string) => rm(path, { recursive: true });
const empty = (path: string) => truncate(path, 0);

describe("a home with a damaged or missing file", () => {
  it.each<Damage>([
    ["no password", (at) => at.password, remove],
    ["an empty password", (at) => at.password, empty],
    ["a wrong password", (at) => at.password, (path) => writeFile(path, "wrong\n")],
    ["no data folder", (at) => at.data, remove],
    [
      "a data folder on a disk that is not mounted",
      (at) => at.data,
      (path) => rm(path, { recursive: true }).then(() => symlink("/nowhere/data", path)),
    ],
    ["no PG_VERSION", inData("PG_VERSION"), remove],
    ["an empty PG_VERSION", inData("PG_VERSION"), empty],
    ["no pg_control", inData("global/pg_control"), remove],
    ["an empty pg_control", inData("global/pg_control"), empty],
    ["half a pg_control", inData("global/pg_control"), (path) => truncate(path, 4096)],
    ["no folder of the databases", inData("base"), remove],
    ["no postgresql.conf", inData("postgresql.conf"), remove],
    ["no pg_hba.conf", inData("pg_hba.conf"), remove],
    ["an empty pg_hba.conf", inData("pg_hba.conf"), empty],
    ["no pg_filenode.map", inData("global/pg_filenode.map"), remove],
    ["no list of databases", inData("global/1262"), remove],
    ["no pg_wal", inData("pg_wal"), remove],
    ["no pg_xact", inData("pg_xact"), remove],
    ["no pg_multixact", inData("pg_multixact"), remove],
    ["no pg_notify", inData("pg_notify"), remove],
    ["no database of ours", inData("base/16385"), remove],
    [
      "no transaction log",
      (at) => at.data,
      (data) =>
        remove(join(data, "pg_wal"))
          .then(() => mkdir(join(data, "pg_wal")))
          .then(own),
    ],
    ["no commit log", (at) => at.data, (path) => remove(join(path, "pg_xact", "0000"))],
  ])("does not start with %s, and names it", async (_, file, damage) => {
    await copyHome();
    const path = file(layout);
    await damage(path);
    const before = Date.now();
    const error = await start().catch((e) => e);
    expect(Date.now() - before).toBeLessThan(EXPLAINED);
    expect(error).toMatchObject({ code: "data_folder_damaged", hint: expect.stringMatching(/\S/) });
    expect(error.message).toContain(path);
    expect(setAside()).toEqual([]);
    expect(await findPostmaster(layout.data)).toBeUndefined();
  });

  it.each<Damage>([
    ["an empty postmaster.pid", inData("postmaster.pid"), (path) => writeFile(path, "")],
    ["a postmaster.pid with other text", inData("postmaster.pid"), (path) => writeFile(path, "\0\0\0\0")],
    ["an empty socket lock", (at) => join(at.socket, ".s.PGSQL.5432.lock"), (path) => writeFile(path, "")],
    ["no socket folder contents", (at) => join(at.socket, ".s.PGSQL.5432"), (path) => writeFile(path, "")],
    ["no server.log", (at) => at.log, remove],
    ["no pg_ident.conf", inData("pg_ident.conf"), remove],
    ["no postgresql.auto.conf", inData("postgresql.auto.conf"), remove],
    ["an empty postgresql.conf", inData("postgresql.conf"), empty],
    ["no pg_tblspc", inData("pg_tblspc"), remove],
  ])("starts with %s and has its data", async (_, file, damage) => {
    await copyHome();
    await damage(file(layout));
    await own();
    const before = Date.now();
    const database = await start();
    expect(Date.now() - before).toBeLessThan(EXPLAINED);
    expect(await kept(database)).toEqual([{ id: 7 }]);
    expect(setAside()).toEqual([]);
  });

  it("starts with a new password that was set on the superuser and written to the file", async () => {
    await copyHome();
    const first = await start();
    await query(first.adminUrl, "ALTER ROLE postgres PASSWORD 'new'");
    await first.stop();
    await writeFile(layout.password, "new\n");
    expect(await kept(await start())).toEqual([{ id: 7 }]);
  });

  it("sets aside the remains of an interrupted first start, which hold nothing of ours", async () => {
    await copyHome();
    await rm(layout.log);
    for (const name of readdirSync(join(layout.data, "base"))) {
      if (Number(name) >= 16_384) await remove(join(layout.data, "base", name));
    }
    await rm(join(layout.data, "global", "pg_control"));
    await query((await start()).url, "SELECT 1");
    expect(setAside()).toHaveLength(1);
  });
});

describe("a running cluster whose files are damaged", () => {
  it.each<Damage>([
    ["without a password file", (at) => at.password, remove],
    ["with a wrong password", (at) => at.password, (path) => writeFile(path, "wrong\n")],
    ["without PG_VERSION", inData("PG_VERSION"), remove],
    ["without pg_control", inData("global/pg_control"), remove],
    ["with an empty postmaster.pid", inData("postmaster.pid"), empty],
    [
      "with half a postmaster.pid",
      inData("postmaster.pid"),
      (path) => readFile(path, "utf8").then((text) => writeFile(path, text.split("\n")[0]!)),
    ],
    ["without its socket", (at) => join(at.socket, ".s.PGSQL.5432"), remove],
  ])(
    "is left alone by a second process: %s",
    async (_, file, damage) => {
      await copyHome();
      const first = await start();
      const pid = first.pid();
      const path = file(layout);
      const contents = await readFile(path).catch(() => undefined);
      const client = new pg.Client({ connectionString: first.url });
      await client.connect();
      await damage(path);
      try {
        const before = Date.now();
        const error = await startEmbedded({ home, log }).catch((e) => e);
        expect(Date.now() - before).toBeLessThan(EXPLAINED);
        expect(error).toMatchObject({ hint: expect.stringMatching(/\S/) });
        expect(`${error.message} ${error.hint}`).toContain(path.endsWith("5432") ? layout.socket : path);
        expect(setAside()).toEqual([]);
        expect((await client.query("SELECT id FROM kept")).rows).toEqual([{ id: 7 }]);
        expect(await findPostmaster(layout.data)).toBe(pid);
      } finally {
        await client.end();
        if (contents) await writeFile(path, contents);
      }
    },
    30_000,
  );
});
