import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { constants, readdirSync, readFileSync, statSync } from "node:fs";
import { chmod, chown, mkdir, mkdtemp, open, rm, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import pg from "pg";
import { pino } from "pino";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { databaseUser } from "../../db/postgres/database-user.ts";
import { type EmbeddedDatabase, startEmbedded } from "../../db/postgres/embedded.ts";
import { type HomeLayout, layoutOf, type RunAs } from "../../db/postgres/layout.ts";
import { findPostmaster } from "../../db/postgres/process-identity.ts";
import { makeHome, removeHome, startTestServer } from "../../testing/server.ts";
import { until } from "../../testing/until.ts";
import { turn, unique } from "../support.ts";

const root = process.getuid?.() === 0;
const log = pino({ level: "silent" });
const nobody: RunAs = { uid: 65_534, gid: 65_534 };
const stranger: RunAs = { uid: 54_321, gid: 54_321 };

/** Milliseconds in which a start must have succeeded or explained itself. */
const EXPLAINED = 10_000;

describe.runIf(root)("as root", () => {
  let user: RunAs;
  let vault: string;
  let secret: string;
  let home: string;
  let layout: HomeLayout;
  let attackers: ChildProcess[];

  beforeAll(async () => {
    user = (await databaseUser(log))!;
    vault = await mkdtemp(join(tmpdir(), "plimsoll-vault-"));
    secret = join(vault, "secret");
  });
  afterAll(() => rm(vault, { recursive: true, force: true }));

  beforeEach(async () => {
    await rm(secret, { force: true });
    // Also the version of another PostgreSQL, so that an error could repeat it.
    await writeFile(secret, "17\n", { mode: 0o600 });
    attackers = [];
  });
  afterEach(async () => {
    await endAttackers();
    const { uid, gid, mode, nlink } = statSync(secret);
    const text = readFileSync(secret, "utf8");
    expect({ uid, gid, mode: mode & 0o7777, nlink, text }).toEqual({
      uid: 0,
      gid: 0,
      mode: 0o600,
      nlink: 1,
      text: "17\n",
    });
  });

  async function endAttackers(): Promise<void> {
    for (const attacker of attackers) {
      attacker.kill("SIGKILL");
      if (attacker.exitCode === null && attacker.signalCode === null) await once(attacker, "exit");
    }
  }

  async function openHome(): Promise<void> {
    home = await makeHome();
    await chmod(home, 0o755);
    layout = layoutOf(home);
  }

  /** Runs a script as another user. Node itself may lie in a folder that this user cannot enter. */
  function spawnAs({ uid, gid }: RunAs, script: string): ChildProcess {
    const drop = `process.setgroups([]); process.setgid(${gid}); process.setuid(${uid});`;
    const known = `const fs = require("node:fs"); const { execFileSync } = require("node:child_process");
      const at = ${JSON.stringify({ ...layout, secret })};`;
    const child = spawn(process.execPath, ["-e", `${drop} ${known} console.log("ready"); ${script}`], {
      stdio: ["ignore", "pipe", "inherit"],
    });
    attackers.push(child);
    return child;
  }

  async function runningAs(who: RunAs, script: string): Promise<void> {
    await once(spawnAs(who, script).stdout!, "data");
  }

  async function doAs(who: RunAs, script: string): Promise<void> {
    const [code] = await once(spawnAs(who, script), "exit");
    expect(code).toBe(0);
  }

  async function start(): Promise<EmbeddedDatabase> {
    const before = Date.now();
    const database = await startEmbedded({ home, log });
    expect(Date.now() - before).toBeLessThan(EXPLAINED);
    return database;
  }

  describe("the user of PostgreSQL, during the first start,", () => {
    beforeEach(openHome);
    afterEach(async () => {
      await endAttackers();
      await removeHome(home);
    });

    it("gets no file of root by planting links", async () => {
      await runningAs(
        user,
        `for (;;) for (const name of fs.readdirSync(at.home))
           for (const file of ["socket/password", "password", "password-for-initdb", "server.log"])
             try { fs.symlinkSync(at.secret, at.home + "/" + name + "/" + file); } catch {}`,
      );
      await (await start()).stop();
      await endAttackers();
      const server = await startTestServer({ home, embedded: true });
      expect((await server.send(turn(unique("session"), 1_000))).status).toBe(200);
      await server.stop();
    });

    // A race: if root deletes the cluster itself, the attacker wins most attempts, but not all.
    it.each([1, 2, 3])("gets no file of root deleted with an unfinished cluster, attempt %d", async () => {
      const kept = join(vault, "kept");
      await mkdir(kept, { mode: 0o700, recursive: true });
      const names = Array.from({ length: 1_000 }, (_, n) => `file-${n}`);
      for (const name of names) await writeFile(join(kept, name), "");
      // A folder that turns into a link as soon as the first of its files is deleted.
      await runningAs(
        user,
        `let socket;
         while (!socket) for (const name of fs.readdirSync(at.home)) try {
           fs.mkdirSync(at.home + "/" + name + "/socket/trap");
           socket = at.home + "/" + name + "/socket";
         } catch {}
         for (const name of ${JSON.stringify(names)}) fs.writeFileSync(socket + "/trap/" + name, "");
         fs.writeFileSync(socket + "/armed", "");
         try {
           while (fs.readdirSync(socket + "/trap").length === ${names.length});
           fs.renameSync(socket + "/trap", socket + "/old");
           fs.symlinkSync(${JSON.stringify(kept)}, socket + "/trap");
         } catch {}`,
      );
      const ended = new AbortController();
      const starting = startEmbedded({ home, log, signal: ended.signal }).catch((error) => error);
      const armed = (name: string) =>
        statSync(join(home, name, "socket", "armed"), { throwIfNoEntry: false }) !== undefined;
      await until(() => readdirSync(home).some(armed));
      ended.abort();
      expect(await starting).toMatchObject({ code: "stopped" });
      expect(readdirSync(kept)).toHaveLength(names.length);
    });
  });

  it("nothing is made in a folder that another user owns, nor where a link of that user leads", async () => {
    const theirs = await mkdtemp(join(tmpdir(), "plimsoll-theirs-"));
    try {
      await chown(theirs, stranger.uid, stranger.gid);
      await chmod(theirs, 0o755);
      await symlink(vault, join(theirs, "link"));
      for (const at of [join(theirs, "home"), join(theirs, "link", "home")]) {
        const error = await startEmbedded({ home: at, log }).catch((e) => e);
        expect(error).toMatchObject({ code: "root_unsupported", hint: expect.stringContaining(theirs) });
      }
      expect(readdirSync(theirs)).toEqual(["link"]);
      expect(readdirSync(vault)).not.toContain("home");
    } finally {
      await rm(theirs, { recursive: true });
    }
  });

  describe("between two starts", () => {
    beforeAll(async () => {
      await openHome();
      const database = await start();
      await query(database.url, "CREATE TABLE kept AS SELECT 7 AS id");
      await database.stop();
    });
    afterAll(() => removeHome(home));

    it.each([
      ["a FIFO as postmaster.pid", `execFileSync("mkfifo", [at.data + "/postmaster.pid"])`],
      ["a link as postmaster.pid", `fs.symlinkSync(at.secret, at.data + "/postmaster.pid")`],
      ["a folder as postmaster.pid", `fs.mkdirSync(at.data + "/postmaster.pid")`],
      [
        "a postmaster.pid of a terabyte",
        `fs.writeFileSync(at.data + "/postmaster.pid", ""); fs.truncateSync(at.data + "/postmaster.pid", 2 ** 40)`,
      ],
      ["a link as the lock of the socket", `fs.symlinkSync(at.secret, at.socket + "/.s.PGSQL.5432.lock")`],
      ["a FIFO as the lock of the socket", `execFileSync("mkfifo", [at.socket + "/.s.PGSQL.5432.lock"])`],
    ])("%s does not stop the next start", async (_, script) => {
      await doAs(user, script);
      const database = await start();
      expect((await query(database.url, "SELECT id FROM kept")).rows).toEqual([{ id: 7 }]);
      await database.stop();
    });

    it.each([
      ["a FIFO", `execFileSync("mkfifo", [at.data + "/PG_VERSION"])`],
      ["a link", `fs.symlinkSync(at.secret, at.data + "/PG_VERSION")`],
      ["a folder", `fs.mkdirSync(at.data + "/PG_VERSION")`],
    ])("%s as PG_VERSION is not read", async (_, script) => {
      await doAs(user, `fs.renameSync(at.data + "/PG_VERSION", at.data + "/old"); ${script}`);
      try {
        const error = await Promise.race([start().catch((e) => e), sleep(EXPLAINED, "it hangs")]);
        expect(error).toMatchObject({
          code: "data_folder_damaged",
          message: /PG_VERSION is not a regular file/,
        });
      } finally {
        // Releases a reader that the FIFO has caught.
        const { O_RDWR, O_NONBLOCK } = constants;
        const fifo = await open(join(layout.data, "PG_VERSION"), O_RDWR | O_NONBLOCK).catch(() => undefined);
        await fifo?.close();
        await doAs(
          user,
          `fs.rmSync(at.data + "/PG_VERSION", { recursive: true }); fs.renameSync(at.data + "/old", at.data + "/PG_VERSION")`,
        );
      }
    });

    it("neither nobody nor another user can read or change anything", async () => {
      const database = await start();
      const attack = `const assert = require("node:assert");
        const denied = (work) => assert.throws(work, { code: /^(EACCES|EPERM)$/ });
        denied(() => fs.readdirSync(at.data));
        denied(() => fs.readdirSync(at.socket));
        denied(() => fs.readFileSync(at.password));
        denied(() => fs.readFileSync(at.log));
        denied(() => fs.appendFileSync(at.data + "/pg_hba.conf", "local all all trust"));
        denied(() => fs.writeFileSync(at.data + "/base/planted", ""));
        denied(() => fs.renameSync(at.data, at.cluster + "/moved"));
        denied(() => process.kill(${database.pid()}));
        require("node:net").connect(at.socket + "/.s.PGSQL.5432")
          .on("connect", () => process.exit(1))
          .on("error", ({ code }) => process.exit(code === "EACCES" ? 0 : 2));`;
      try {
        await doAs(nobody, attack);
        await doAs(stranger, attack);
        expect((await query(database.url, "SELECT 1 AS one")).rows).toEqual([{ one: 1 }]);
      } finally {
        await database.stop();
      }
    });

    it("a process that only calls itself postgres is not taken for one", async () => {
      const impostor = spawn("/bin/sh", ["-c", "echo ready; read line", "-D", layout.data], {
        argv0: "postgres",
        stdio: ["pipe", "pipe", "ignore"],
        ...stranger,
      });
      attackers.push(impostor);
      await once(impostor.stdout, "data");
      expect(await findPostmaster(layout.data)).toBeUndefined();
    });
  });
});

async function query(url: string, sql: string) {
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  return client.query(sql).finally(() => client.end());
}
