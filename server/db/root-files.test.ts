import { spawn } from "node:child_process";
import {
  chmod,
  chown,
  lstat,
  mkdir,
  mkdtemp,
  readFile,
  realpath,
  rm,
  symlink,
  writeFile,
} from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { pino } from "pino";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { folderOpenToOthers } from "./closed-folders.ts";
import { DATABASE_USER, databaseUser, findUser } from "./database-user.ts";
import { startEmbedded } from "./embedded.ts";
import { giveTree, readSmallFile } from "./foreign-files.ts";
import { layoutOf } from "./layout.ts";

const isRoot = process.getuid?.() === 0;
const log = pino({ level: "silent" });
const NOBODY = 65_534;

let home: string;
beforeEach(async () => {
  home = await realpath(await mkdtemp(join(tmpdir(), "plimsoll-root-")));
  await chmod(home, 0o755);
});
afterEach(() => rm(home, { recursive: true, force: true }));

describe("the user of the database", () => {
  const lines = "root:x:0:0::/root:/bin/sh\nplimsoll:x:998:997::/nonexistent:/usr/sbin/nologin";

  it.each<[string, string, object | undefined]>([
    ["is found", lines, { uid: 998, gid: 997 }],
    ["may be missing", "root:x:0:0::/root:/bin/sh", undefined],
    ["is listed twice by two sources", `${lines}\nplimsoll:x:998:997::/x:/x`, { uid: 998, gid: 997 }],
    ["is not another whose name begins alike", "plimsoll2:x:5:5::/:/", undefined],
  ])("%s", (_, text, expected) => {
    expect(findUser(text, "plimsoll")).toEqual(expected);
  });

  it.each([
    ["is not root by another name", "plimsoll:x:0:0::/:/"],
    ["shares its id with no other", `${lines}\ndaemon:x:998:5::/:/`],
    ["has a number for an id", "plimsoll:x:x:0::/:/"],
  ])("%s", (_, text) => {
    expect(() => findUser(text, "plimsoll")).toThrow(/cannot run as the user plimsoll/);
  });

  it.runIf(isRoot)("is made once, also when several processes ask at the same moment", async () => {
    const users = await Promise.all(Array.from({ length: 4 }, () => databaseUser(log)));
    for (const user of users) expect(user).toEqual(users[0]);
    expect(users[0]!.uid).not.toBe(0);
    expect(users[0]!.uid).not.toBe(NOBODY);
    expect(await readFile("/etc/passwd", "utf8")).toContain(`\n${DATABASE_USER}:`);
  });
});

describe.runIf(isRoot)("as root", () => {
  it("a folder that others could change is found, at or above the path", async () => {
    const deep = join(home, "a", "b");
    await mkdir(deep, { recursive: true });
    expect(await folderOpenToOthers(deep)).toBeUndefined();
    expect(await folderOpenToOthers(join(deep, "not", "there"))).toBeUndefined();
    await chmod(join(home, "a"), 0o777);
    expect(await folderOpenToOthers(deep)).toBe(join(home, "a"));
    await chmod(join(home, "a"), 0o1777);
    expect(await folderOpenToOthers(deep)).toBeUndefined();
    expect(await folderOpenToOthers(join(home, "a"))).toBe(join(home, "a"));
    await chmod(join(home, "a"), 0o755);
    await chown(deep, NOBODY, NOBODY);
    expect(await folderOpenToOthers(deep)).toBe(deep);
  });

  it.each([
    ["belongs to another user", (path: string) => chown(path, NOBODY, NOBODY)],
    ["can be written by others", (path: string) => chmod(path, 0o757)],
    ["is in a folder of another user", (path: string) => chown(join(path, ".."), NOBODY, NOBODY)],
  ])("a home that %s is refused before anything is written", async (_, change) => {
    const inside = join(home, "folder", "plimsoll");
    await mkdir(inside, { recursive: true });
    await change(inside);
    await expect(startEmbedded({ home: inside, log })).rejects.toMatchObject({
      code: "root_unsupported",
      hint: expect.stringContaining("chown root"),
    });
    await expect(lstat(join(inside, "postgres"))).rejects.toMatchObject({ code: "ENOENT" });
  });

  it("a file is read only if it is one: not through a link, not from a pipe, and not without end", async () => {
    const secret = join(home, "secret");
    await writeFile(secret, "secret");
    await symlink(secret, join(home, "link"));
    expect(await readSmallFile(secret)).toBe("secret");
    expect(await readSmallFile(join(home, "link"))).toBeUndefined();
    await symlink("/dev/zero", join(home, "device"));
    expect(await readSmallFile(join(home, "device"))).toBeUndefined();
    const made = spawn("/bin/sh", ["-c", `mkfifo ${join(home, "pipe")}`]);
    await new Promise((resolve) => made.once("close", resolve));
    expect(await readSmallFile(join(home, "pipe"))).toBe("");
    await writeFile(join(home, "large"), "x".repeat(1_000_000));
    expect((await readSmallFile(join(home, "large")))!.length).toBe(64 * 1024);
  });

  it("a tree is given away without what belongs to others", async () => {
    const tree = join(home, "tree");
    await mkdir(join(tree, "inner"), { recursive: true });
    await writeFile(join(tree, "inner", "file"), "x");
    const outside = join(home, "outside");
    await writeFile(outside, "root's", { mode: 0o600 });
    await symlink(outside, join(tree, "link"));
    for (const name of ["", "inner", "inner/file"]) await chown(join(tree, name), NOBODY, NOBODY);
    await expect(giveTree(tree, NOBODY, { uid: 4_242, gid: 4_242 })).rejects.toThrow(/link/);
    await rm(join(tree, "link"));
    await giveTree(tree, NOBODY, { uid: 4_242, gid: 4_242 });
    for (const name of ["", "inner", "inner/file"]) expect((await lstat(join(tree, name))).uid).toBe(4_242);
    expect(await lstat(outside)).toMatchObject({ uid: 0 });
  });

  it("data of the user nobody is given to the database's user, and serves on", async () => {
    const runAs = (await databaseUser(log))!;
    const first = await startEmbedded({ home, log });
    const { data, socket } = layoutOf(home);
    await first.stop();
    await new Promise<void>((resolve, reject) =>
      spawn("chown", ["-R", `${NOBODY}:${NOBODY}`, data, socket]).once("close", (code) =>
        code === 0 ? resolve() : reject(new Error(`chown exited with ${code}`)),
      ),
    );
    const second = await startEmbedded({ home, log });
    expect((await lstat(data)).uid).toBe(runAs.uid);
    expect((await lstat(join(data, "global", "pg_control"))).uid).toBe(runAs.uid);
    await second.stop();
  });

  it("links that the database's user puts in the way lead nowhere", async () => {
    const runAs = (await databaseUser(log))!;
    const secret = join(home, "only-root");
    await writeFile(secret, "root's own", { mode: 0o600 });
    // Runs for the whole time, as the database's user: wherever that user may write, links take the place of files.
    const attacker = spawn(
      "/bin/sh",
      [
        "-c",
        `while :; do for d in ${home}/postgres*/data ${home}/postgres*/socket; do
           for n in password postmaster.pid password-for-initdb PG_VERSION.x .s.PGSQL.5432.lock; do
             ln -sf ${secret} $d/$n 2>/dev/null; done; done; done`,
      ],
      { ...runAs, stdio: "ignore", detached: true },
    );
    try {
      for (let start = 0; start < 3; start++) {
        const database = await startEmbedded({ home, log, signal: AbortSignal.timeout(15_000) }).catch(
          () => undefined,
        );
        await database?.stop();
      }
    } finally {
      process.kill(-attacker.pid!, "SIGKILL");
    }
    expect(await readFile(secret, "utf8")).toBe("root's own");
    const { uid, gid, mode } = await lstat(secret);
    expect({ uid, gid, mode: mode & 0o777 }).toEqual({ uid: 0, gid: 0, mode: 0o600 });
  });

  it("nobody, and whatever else runs on the machine, can neither read nor change the data", async () => {
    const database = await startEmbedded({ home, log });
    const { data, socket, password } = layoutOf(home);
    const asNobody = (command: string) =>
      new Promise<number | null>((resolve) =>
        spawn("/bin/sh", ["-c", command], { uid: NOBODY, gid: NOBODY, stdio: "ignore" }).once(
          "close",
          resolve,
        ),
      );
    for (const command of [
      `ls ${data}`,
      `ls ${socket}`,
      `cat ${password}`,
      `cat ${data}/pg_hba.conf`,
      `echo trust >> ${data}/pg_hba.conf`,
      `touch ${socket}/x`,
      `touch ${home}/postgres/x`,
    ]) {
      expect(await asNobody(command), command).not.toBe(0);
    }
    await database.stop();
  });
});
