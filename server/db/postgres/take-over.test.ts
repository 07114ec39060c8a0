import { execFileSync, spawn } from "node:child_process";
import { once } from "node:events";
import { chmodSync, lchownSync, mkdirSync, readdirSync, statSync, symlinkSync, writeFileSync } from "node:fs";
import { chmod, cp, link, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import pg from "pg";
import { pino } from "pino";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { makeFifo } from "../../testing/fifo.ts";
import { findBinaries } from "./binaries.ts";
import { databaseUser } from "./database-user.ts";
import { type EmbeddedDatabase, startEmbedded } from "./embedded.ts";
import { type HomeLayout, layoutOf, NOBODY, type RunAs } from "./layout.ts";
import { chooseAddress, startPostmaster } from "./postmaster.ts";
import { takeOver } from "./take-over.ts";

const log = pino({ level: "silent" });
const nobody: RunAs = { uid: NOBODY, gid: NOBODY };

async function makeFolder(): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), "plimsoll-take-over-"));
  await chmod(folder, 0o711);
  return folder;
}

const chown = (owner: RunAs, ...paths: string[]) =>
  execFileSync("chown", ["-Rh", `${owner.uid}:${owner.gid}`, ...paths]);

const ownersIn = (...folders: string[]) =>
  new Set(
    folders.flatMap((path) => execFileSync("find", [path, "-printf", "%U\n"]).toString().trim().split("\n")),
  );

describe.runIf(process.getuid?.() === 0)("the database of an earlier version, which ran as nobody", () => {
  let user: RunAs;
  let used: string;
  let home: string;
  let layout: HomeLayout;
  let started: EmbeddedDatabase[];

  beforeAll(async () => {
    user = (await databaseUser(log))!;
    used = await makeFolder();
    const database = await startEmbedded({ home: used, log });
    await query(database.url, "CREATE TABLE kept AS SELECT 7 AS id");
    await database.stop();
  });
  afterAll(() => rm(used, { recursive: true, force: true }));

  beforeEach(async () => {
    home = await makeFolder();
    layout = layoutOf(home);
    await cp(used, home, { recursive: true, preserveTimestamps: true, verbatimSymlinks: true });
    chmodSync(home, 0o711);
    chown(nobody, layout.data, layout.socket);
    started = [];
  });
  afterEach(async () => {
    for (const database of started) await database.stop();
    await rm(home, { recursive: true, force: true });
  });

  async function start(): Promise<EmbeddedDatabase> {
    const database = await startEmbedded({ home, log });
    started.push(database);
    return database;
  }

  it("gets its new owner and keeps its data", async () => {
    const database = await start();
    expect((await query(database.url, "SELECT id FROM kept")).rows).toEqual([{ id: 7 }]);
    expect(ownersIn(layout.data, layout.socket)).toEqual(new Set([String(user.uid)]));
    await database.stop();
    expect(await takeOver(layout, user)).toBe("ours");
  });

  it("gets the rest of its new owner if the first attempt was interrupted", async () => {
    chown(user, layout.data, layout.socket);
    chown(nobody, join(layout.data, "PG_VERSION"), join(layout.data, "base"));
    expect((await query((await start()).url, "SELECT id FROM kept")).rows).toEqual([{ id: 7 }]);
    expect(ownersIn(layout.data, layout.socket)).toEqual(new Set([String(user.uid)]));
  });

  it("is joined while it runs, and gets its new owner when it has ended", async () => {
    const binaries = await findBinaries(layout.binaries, user);
    const address = await chooseAddress(layout);
    const { signal } = new AbortController();
    const old = await startPostmaster(layout, binaries, address, { runAs: nobody, signal });
    if (old === "raced") throw new Error("not started");
    const database = await start();
    expect(database.adopted).toBe(true);
    expect(await takeOver(layout, user)).toBe("in_use");
    expect(statSync(layout.data).uid).toBe(NOBODY);
    expect((await query(database.url, "SELECT id FROM kept")).rows).toEqual([{ id: 7 }]);
    // A crash leaves the socket and its lock.
    process.kill(old.pid, "SIGKILL");
    for (const limit = Date.now() + 20_000; (database.pid() ?? old.pid) === old.pid; await sleep(20)) {
      expect(Date.now(), database.problem()?.message).toBeLessThan(limit);
    }
    expect((await query(database.url, "SELECT id FROM kept")).rows).toEqual([{ id: 7 }]);
    expect(statSync(`/proc/${database.pid()}`).uid).toBe(user.uid);
  });

  it("keeps the files that root has put there", async () => {
    const file = join(layout.data, "pg_hba.conf");
    chown({ uid: 0, gid: 0 }, file);
    chmodSync(file, 0o644);
    expect((await query((await start()).url, "SELECT id FROM kept")).rows).toEqual([{ id: 7 }]);
    expect(statSync(file).uid).toBe(0);
  });

  it.each<[what: string, plant: (path: string, secret: string) => unknown]>([
    ["a link", (path, secret) => symlinkSync(secret, path)],
    ["a FIFO", (path) => makeFifo(path)],
    ["a file with another name elsewhere", (path) => link(join(home, "other"), path)],
    [
      "a file of somebody else",
      (path) => writeFile(path, "").then(() => chown({ uid: 54_321, gid: 1 }, path)),
    ],
  ])("is refused with %s in it, by its name", async (_, plant) => {
    const secret = join(home, "secret");
    writeFileSync(secret, "", { mode: 0o600 });
    writeFileSync(join(home, "other"), "");
    chown(nobody, join(home, "other"));
    const path = join(layout.data, "base", "odd");
    await plant(path, secret);
    if (statSync(path, { throwIfNoEntry: false })?.uid !== 54_321) lchownSync(path, NOBODY, NOBODY);
    const error = await start().catch((e) => e);
    expect(error).toMatchObject({ code: "root_unsupported", hint: expect.stringContaining(path) });
    expect(error.message).toContain(path);
    expect(statSync(secret).uid).toBe(0);
    expect(statSync(join(home, "other")).uid).toBe(NOBODY);
    // The remedy that the error names.
    await rm(path);
    expect((await query((await start()).url, "SELECT id FROM kept")).rows).toEqual([{ id: 7 }]);
  });

  it("leads no change of owner out of the folder, whatever a process of nobody does meanwhile", async () => {
    const vault = await makeFolder();
    const secret = join(vault, "secret");
    writeFileSync(secret, "", { mode: 0o600 });
    const inner = join(layout.data, "base", "inner");
    const racer = `process.setgroups([]); process.setgid(${NOBODY}); process.setuid(${NOBODY});
      const fs = require("node:fs");
      for (;;) try {
        process.chdir(${JSON.stringify(inner)});
        for (;;) {
          for (const name of ["file", "folder"]) { fs.rmSync(name, { recursive: true, force: true }); }
          fs.writeFileSync("file", ""); fs.mkdirSync("folder"); fs.writeFileSync("folder/secret", "");
          fs.rmSync("folder", { recursive: true }); fs.symlinkSync(${JSON.stringify(vault)}, "folder");
          fs.unlinkSync("file"); fs.symlinkSync(${JSON.stringify(secret)}, "file");
        }
      } catch {}`;
    mkdirSync(inner);
    chown(nobody, inner);
    const attacker = spawn(process.execPath, ["-e", racer], { stdio: "ignore" });
    try {
      const outcomes: string[] = [];
      for (const end = Date.now() + 3_000; Date.now() < end; ) {
        outcomes.push(await takeOver(layout, user).catch(({ code }) => code));
        chown(nobody, layout.data);
        chmodSync(inner, 0o700);
        await sleep(5);
      }
      // It depends on what was there at that moment.
      expect(outcomes.filter((outcome) => outcome !== "root_unsupported")).toContain("taken");
      expect(new Set([...outcomes, "taken", "root_unsupported"]).size).toBe(2);
      expect(statSync(secret).uid).toBe(0);
      expect(statSync(vault).uid).toBe(0);
      expect(readdirSync(vault)).toEqual(["secret"]);
    } finally {
      attacker.kill("SIGKILL");
      await once(attacker, "exit");
      await rm(vault, { recursive: true });
    }
  });
});

async function query(url: string, sql: string) {
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  return client.query(sql).finally(() => client.end());
}
