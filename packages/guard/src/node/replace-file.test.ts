import { spawn } from "node:child_process";
import { once } from "node:events";
import { statSync } from "node:fs";
import {
  chmod,
  chown,
  link,
  mkdir,
  mkdtemp,
  readdir,
  readFile,
  rm,
  stat,
  symlink,
  writeFile,
} from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { replaceFile } from "./replace-file.ts";
import { rootPath } from "./root-path.ts";

let folder: string;
let path: string;
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), "replace-file-"));
  path = join(folder, "settings.json");
});
afterEach(() => rm(folder, { recursive: true, force: true }));

const replace = (text: string, options = {}) => replaceFile(path, (file) => file.writeFile(text), options);
const modeOf = async (at: string) => (await stat(at)).mode & 0o7777;

describe("replaceFile", () => {
  it("gives the file its mode whatever the umask is, and by default the one of the umask", async () => {
    await replace("a", { mode: 0o666 });
    expect(await modeOf(path)).toBe(0o666);
    await replace("b");
    expect(await modeOf(path)).toBe(0o666 & ~process.umask());
    expect(await readFile(path, "utf8")).toBe("b");
  });

  it("keeps what links to the old file as it was", async () => {
    const other = join(folder, "other");
    await writeFile(other, "other");
    await symlink(other, path);
    await replace("a");
    await rm(path);
    await link(other, path);
    await replace("b");
    expect(await readFile(other, "utf8")).toBe("other");
    expect(await readFile(path, "utf8")).toBe("b");
  });

  it("leaves the old file and no other behind when a step fails", async () => {
    await replace("old");
    const failing = { check: () => Promise.reject(new Error("no")) };
    await expect(replace("new", failing)).rejects.toThrow("no");
    await expect(replaceFile(path, () => Promise.reject(new Error("full")))).rejects.toThrow("full");
    await expect(replace("new", { isNew: true })).rejects.toMatchObject({ code: "EEXIST" });
    expect(await readFile(path, "utf8")).toBe("old");
    expect(await readdir(folder)).toEqual(["settings.json"]);
  });
});

describe.runIf(process.getuid?.() === 0)("as root", () => {
  const STRANGER = 54_321;
  let secret: string;

  beforeEach(async () => {
    // In a folder that nobody else can enter, so its name does not matter.
    await chmod(folder, 0o755);
    secret = join(folder, "secret");
    await writeFile(secret, "secret", { mode: 0o600 });
    await mkdir(join(folder, "theirs"));
    await chown(join(folder, "theirs"), STRANGER, STRANGER);
  });

  it("a user who owns the folder and replaces each new file with a link gets no file of root", async () => {
    const theirs = join(folder, "theirs");
    path = join(theirs, "settings.json");
    await replace("{}", { owner: { uid: STRANGER, gid: STRANGER } });
    const attacker = spawn(
      process.execPath,
      [
        "-e",
        `process.setgroups([]); process.setgid(${STRANGER}); process.setuid(${STRANGER});
         const fs = require("node:fs"); console.log("ready");
         for (;;) for (const name of fs.readdirSync(${JSON.stringify(theirs)}))
           if (name !== "settings.json") try {
             const draft = ${JSON.stringify(`${theirs}/`)} + name;
             fs.unlinkSync(draft); fs.symlinkSync(${JSON.stringify(secret)}, draft);
           } catch {}`,
      ],
      { stdio: ["ignore", "pipe", "inherit"] },
    );
    await once(attacker.stdout, "data");
    let won = 0;
    try {
      for (let tries = 0; tries < 300; tries += 1) {
        const lost = await replace("{}", { mode: 0o666, owner: { uid: STRANGER, gid: STRANGER } }).then(
          () => false,
          () => true,
        );
        if (lost || (await readFile(path, "utf8")) === "secret") won += 1;
      }
    } finally {
      attacker.kill("SIGKILL");
      await once(attacker, "exit");
    }
    const { uid, gid, mode } = statSync(secret);
    expect({ uid, gid, mode: mode & 0o7777, text: await readFile(secret, "utf8") }).toEqual({
      uid: 0,
      gid: 0,
      mode: 0o600,
      text: "secret",
    });
    expect(won, "new files that the attacker replaced").toBeGreaterThan(0);
  });

  it("a path is changeable where another user owns a part, or a link of that user leads", async () => {
    const theirs = join(folder, "theirs");
    const changeable = { is: "changeable", part: theirs, why: `belongs to the user with uid ${STRANGER}` };
    expect(await rootPath(join(theirs, "new", "folder"))).toEqual(changeable);
    await symlink(theirs, join(folder, "link"));
    expect(await rootPath(join(folder, "link"))).toEqual(changeable);
    expect(await rootPath(join(folder, "new"))).toEqual({ is: "trusted", path: join(folder, "new") });
    await chmod(folder, 0o775);
    expect(await rootPath(folder)).toMatchObject({ is: "changeable", why: "is writable for its group" });
  });
});
