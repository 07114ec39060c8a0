import { execFileSync } from "node:child_process";
import { existsSync, readdirSync } from "node:fs";
import {
  chmod,
  cp,
  mkdir,
  mkdtemp,
  readFile,
  rename,
  rm,
  stat,
  symlink,
  truncate,
  writeFile,
} from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import pg from "pg";
import { pino } from "pino";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { canMount, smallDisk } from "../../testing/small-disk.ts";
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
const copyHome = async () => void execFileSync("cp", ["-a", `${used}/.`, home]);

/** What a test made belongs to its user. */
async function own(): Promise<void> {
  const user = await databaseUser(log);
  if (user === undefined) return;
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
    ["a pg_control of zeros", inData("global/pg_control"), (path) => writeFile(path, Buffer.alloc(8_192))],
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
    await rm(layout.record);
    await interrupt(layout);
    await query((await start()).url, "SELECT 1");
    expect(setAside()).toHaveLength(1);
  });
});

/** Leaves what an interrupted first start leaves. */
async function interrupt(at: HomeLayout): Promise<void> {
  await rm(at.log);
  for (const name of readdirSync(join(at.data, "base")))
    if (Number(name) >= 16_384) await remove(join(at.data, "base", name));
  await rm(join(at.data, "global", "pg_control"));
}

const replace = (path: string, make: (path: string) => Promise<unknown>) =>
  remove(path).then(() => make(path));
const emptied = (path: string) => replace(path, mkdir).then(own);

describe("a file that can be written again", () => {
  it.each<[...Damage, command: (path: string) => string]>([
    ["no PG_VERSION", inData("PG_VERSION"), remove, (path) => `echo 18 > '${path}'`],
    ["an empty PG_VERSION", inData("PG_VERSION"), empty, (path) => `echo 18 > '${path}'`],
    ["no postgresql.conf", inData("postgresql.conf"), remove, (path) => `touch '${path}'`],
    [
      "no pg_hba.conf",
      inData("pg_hba.conf"),
      remove,
      (path) => `echo 'local all all scram-sha-256' > '${path}'`,
    ],
    [
      "an empty pg_hba.conf",
      inData("pg_hba.conf"),
      empty,
      (path) => `echo 'local all all scram-sha-256' > '${path}'`,
    ],
    [
      "a pg_hba.conf with other text",
      inData("pg_hba.conf"),
      (path) => writeFile(path, "\0\0\n"),
      (path) => `echo 'local all all scram-sha-256' > '${path}'`,
    ],
    [
      "a pg_hba.conf that rejects every login",
      inData("pg_hba.conf"),
      (path) => writeFile(path, "local all all reject\n"),
      (path) => `echo 'local all all scram-sha-256' > '${path}'`,
    ],
  ])("is named with the command that does so: %s", async (_, file, damage, command) => {
    await copyHome();
    const path = file(layout);
    await damage(path);
    const error = await start().catch((e) => e);
    expect(error.message).toContain(path);
    expect(error.hint).toContain(`run: ${command(path)}`);
    execFileSync("sh", ["-c", command(path)]);
    expect(await kept(await start())).toEqual([{ id: 7 }]);
  });

  it("names the line for TCP if the home's path is too long for a socket", async () => {
    await copyHome();
    const long = join(home, "a".repeat(100));
    await mkdir(long, { mode: 0o711 });
    for (const name of ["postgres", "database-id"]) await rename(join(home, name), join(long, name));
    const path = join(layoutOf(long).data, "pg_hba.conf");
    await empty(path);
    const command = `echo 'host all all 127.0.0.1/32 scram-sha-256' > '${path}'`;
    await expect(startEmbedded({ home: long, log })).rejects.toMatchObject({
      hint: expect.stringContaining(command),
    });
    execFileSync("sh", ["-c", command]);
    started.push(await startEmbedded({ home: long, log }));
    expect(await kept(started[0]!)).toEqual([{ id: 7 }]);
  });
});

describe.each([
  ["has a record of its database", (at: HomeLayout) => at.record],
  ["is older than the record and has a local token", (at: HomeLayout) => at.localToken],
])("a home that %s", (_, evidence) => {
  beforeEach(async () => {
    await copyHome();
    if (evidence(layout) === layout.record) return;
    await rm(layout.record);
    await writeFile(layout.localToken, "any\n");
  });

  it.each<[what: string, file: (at: HomeLayout) => string, says: RegExp, lose: () => Promise<unknown>]>([
    ["no postgres folder", (at) => at.cluster, /is missing/, () => remove(layout.cluster)],
    ["an empty postgres folder", (at) => at.cluster, /is empty/, () => replace(layout.cluster, mkdir)],
    [
      "a file instead of the postgres folder",
      (at) => at.cluster,
      /is a file/,
      () => replace(layout.cluster, (path) => writeFile(path, "")),
    ],
    [
      "a link to a postgres folder on a disk that is not mounted",
      (at) => at.cluster,
      /is a link to \/nowhere\/postgres, which is missing/,
      () => replace(layout.cluster, (path) => symlink("/nowhere/postgres", path)),
    ],
    [
      "a link to the empty folder where a disk is mounted",
      (at) => at.cluster,
      /is empty/,
      async () => {
        await mkdir(join(home, "mount"));
        await replace(layout.cluster, (path) => symlink(join(home, "mount"), path));
      },
    ],
    ["an empty data folder", (at) => at.data, /is empty/, () => emptied(layout.data)],
    [
      "an empty data folder and no server.log",
      (at) => at.data,
      /is empty/,
      () => rm(layout.log).then(() => emptied(layout.data)),
    ],
    [
      "a file instead of the data folder",
      (at) => at.data,
      /is a file/,
      () => replace(layout.data, (path) => writeFile(path, "")).then(own),
    ],
    ["the remains of a first start", inData("global/pg_control"), /is missing/, () => interrupt(layout)],
  ])("does not start with %s, and says what to do", async (_what, file, says, lose) => {
    await lose();
    const before = readdirSync(home, { recursive: true }).sort();
    const error = await start().catch((e) => e);
    expect(error).toMatchObject({ code: "data_folder_damaged" });
    expect(error.message).toContain(file(layout));
    expect(error.message).toMatch(says);
    expect(error.hint).toContain("backup");
    expect(readdirSync(home, { recursive: true }).sort()).toEqual(before);
    if (file(layout) === join(layout.data, "global/pg_control")) return;
    expect(error.hint).toContain("mount that disk");
    expect(error.hint).toContain(evidence(layout));
    execFileSync("sh", ["-c", /run: (.*)$/.exec(error.hint)![1]!]);
    expect(readdirSync(home).filter((name) => !["mount", "postgres.old"].includes(name))).toEqual([]);
  });
});

describe("the record of a home's database", () => {
  const systemIdentifier = async ({ adminUrl }: EmbeddedDatabase) =>
    (await query(adminUrl, "SELECT system_identifier::text AS id FROM pg_control_system()")).rows[0].id;

  it("holds the system identifier, and every start leaves it as it is", async () => {
    await copyHome();
    const before = await stat(layout.record);
    const id = await systemIdentifier(await start());
    expect(await readFile(layout.record, "utf8")).toBe(`${id}\n`);
    expect((await stat(layout.record)).ino).toBe(before.ino);
    expect(before.mode & 0o777).toBe(0o600);
  });

  it("refuses the database of another home, and adopts it when the record is deleted", async () => {
    const other = layoutOf(await makeHome());
    try {
      await (await startEmbedded({ home: other.home, log })).stop();
      await copyHome();
      await remove(layout.cluster);
      await rename(other.cluster, layout.cluster);
      const [ours, theirs] = await Promise.all(
        [layout.record, other.record].map((path) => readFile(path, "utf8")),
      );
      const error = await start().catch((e) => e);
      expect(error).toMatchObject({ code: "data_folder_damaged" });
      for (const part of [layout.data, ours!.trim(), theirs!.trim()]) expect(error.message).toContain(part);
      expect(error.hint).toContain(layout.record);
      await rm(layout.record);
      await start();
      expect(await readFile(layout.record, "utf8")).toBe(theirs);
    } finally {
      await rm(other.home, { recursive: true });
    }
  });

  const DAMAGED: [string, (path: string) => Promise<unknown>][] = [
    ["no record", remove],
    ["an empty record", empty],
    ["a truncated record", (path) => truncate(path, 9)],
    ["a record with other text", (path) => writeFile(path, "\0\0\0\0\n")],
    ["a link as its record", (path) => replace(path, (at) => symlink("/etc/hostname", at))],
  ];
  it.each(DAMAGED)("is written again if a home has its database and %s", async (_, damage) => {
    await copyHome();
    await damage(layout.record);
    const database = await start();
    expect(await kept(database)).toEqual([{ id: 7 }]);
    expect(await readFile(layout.record, "utf8")).toBe(`${await systemIdentifier(database)}\n`);
    expect(readdirSync(home).filter((name) => name.includes("database-id"))).toEqual(["database-id"]);
  });

  it.each(DAMAGED.slice(1))("still shows that the database is gone: %s", async (_, damage) => {
    await copyHome();
    await damage(layout.record);
    await remove(layout.cluster);
    await expect(start()).rejects.toMatchObject({
      code: "data_folder_damaged",
      message: /postgres is missing/,
    });
  });

  it("does not keep a database from starting if it cannot be written", async () => {
    await copyHome();
    await replace(layout.record, mkdir);
    expect(await kept(await start())).toEqual([{ id: 7 }]);
    expect(readdirSync(home).sort()).toEqual(["database-id", "postgres"]);
  });

  it.runIf(canMount)("is written once the disk has space again", async () => {
    const disk = await smallDisk();
    try {
      await cp(used, disk.home, { recursive: true, verbatimSymlinks: true });
      home = disk.home;
      layout = layoutOf(home);
      await own();
      await rm(layout.record);
      disk.fill();
      await expect(start()).rejects.toMatchObject({ code: "disk_full" });
      expect(existsSync(layout.record)).toBe(false);
      await disk.free();
      expect(await kept(await start())).toEqual([{ id: 7 }]);
      expect(existsSync(layout.record)).toBe(true);
    } finally {
      for (const database of started) await database.stop();
      await disk.unmount();
    }
  });

  it.runIf(canMount)("cannot be written in a read-only home, which does not start", async () => {
    const disk = await smallDisk();
    try {
      for (const database of [used, undefined]) {
        if (database !== undefined)
          await cp(database, disk.home, { recursive: true, verbatimSymlinks: true });
        execFileSync("mount", ["-o", "remount,ro", dirname(disk.home)]);
        const error = await startEmbedded({ home: disk.home, log }).catch((e) => e);
        expect(error).toMatchObject({
          code: "data_folder_unwritable",
          message: /the file system is read-only/,
        });
        expect(error.message).toContain(disk.home);
        execFileSync("mount", ["-o", "remount,rw", dirname(disk.home)]);
        await rm(disk.home, { recursive: true, force: true });
      }
    } finally {
      await disk.unmount();
    }
  });

  it("moves with the home", async () => {
    await copyHome();
    const moved = await makeHome();
    await rm(moved, { recursive: true });
    await rename(home, moved);
    const database = await startEmbedded({ home: moved, log });
    started.push(database);
    try {
      expect(await kept(database)).toEqual([{ id: 7 }]);
    } finally {
      await database.stop();
      await rm(moved, { recursive: true });
    }
  });

  it("is not needed for a first start beside a secret that somebody put there", async () => {
    await writeFile(join(home, "secret"), "a".repeat(43));
    await query((await start()).url, "SELECT 1");
  });

  it("is not needed to refuse a file or a dangling link instead of the postgres folder", async () => {
    await writeFile(layout.cluster, "");
    await expect(start()).rejects.toMatchObject({ message: /postgres is a file/ });
    await replace(layout.cluster, (path) => symlink("/nowhere", path));
    await expect(start()).rejects.toMatchObject({ message: /postgres is a link to \/nowhere/ });
  });

  it("is not needed to refuse a data folder that cannot be read", async () => {
    await mkdir(layout.cluster);
    await symlink(layout.data, layout.data);
    await expect(start()).rejects.toMatchObject({
      code: "data_folder_damaged",
      message: /data cannot be read \(ELOOP\)/,
    });
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
  ])("is left alone by a second process: %s", async (_, file, damage) => {
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
  });
});
