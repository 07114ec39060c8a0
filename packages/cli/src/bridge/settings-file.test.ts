import { execFileSync } from "node:child_process";
import { statSync } from "node:fs";
import {
  chmod,
  chown,
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
import { ADAPTERS } from "@plimsoll/harnesses/bridge";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { lastNote, noteHook } from "./hook.ts";
import { readSettingsFile, replaceSettingsFile } from "./settings-file.ts";
import { editFor, readSettings, undo, writeEdit } from "./settings-session.ts";

const claude = ADAPTERS[0]!;
const KEY = `plim_abcdefg_${"0".repeat(49)}`;
let folder: string;
let home: string;
let path: string;
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), "settings-file-"));
  home = join(folder, "home");
  path = join(folder, "settings.json");
});
afterEach(() => rm(folder, { recursive: true, force: true }));

const modeOf = async (at: string) => (await stat(at)).mode & 0o777;
const write = async (value: unknown) => {
  const reading = await readSettings(claude, path, home, "connect");
  await writeEdit(claude, reading, editFor(claude, reading, [{ path: ["env", "KEY"], value }], true), 1_000);
};

describe.skipIf(process.platform === "win32")("a settings file that gets a key", () => {
  it.each([0o644, 0o660, 0o604, 0o600])(
    "with mode %o is readable by its owner only, until the key is removed",
    async (mode) => {
      await writeFile(path, "{}\n");
      await chmod(path, mode);
      await write(`x-api-key=${KEY}`);
      expect(await readFile(path, "utf8")).toContain(KEY);
      expect(await modeOf(path)).toBe(0o600);
      await undo(claude, await readSettings(claude, path, home, "connect"));
      expect(await readFile(path, "utf8")).toBe("{}\n");
      expect(await modeOf(path)).toBe(mode);
    },
  );

  it("keeps the mode that somebody gave it meanwhile", async () => {
    await writeFile(path, "{}\n", { mode: 0o644 });
    await write(KEY);
    await chmod(path, 0o640);
    await undo(claude, await readSettings(claude, path, home, "connect"));
    expect(await modeOf(path)).toBe(0o640);
  });

  it("keeps its mode while it gets other settings", async () => {
    await writeFile(path, "{}\n");
    await chmod(path, 0o664);
    await write("plimsoll");
    expect(await modeOf(path)).toBe(0o664);
  });
});

it.skipIf(process.platform === "win32")(
  "a FIFO or a folder as settings file is refused at once",
  async () => {
    execFileSync("mkfifo", [path]);
    await expect(readSettingsFile(path)).rejects.toMatchObject({ reason: "unreadable" });
    await rm(path);
    await mkdir(path);
    await expect(readSettingsFile(path)).rejects.toMatchObject({ reason: "unreadable" });
  },
);

it("the note of a hook is not written through a link", async () => {
  const target = join(folder, "target");
  await mkdir(home);
  await writeFile(target, "mine");
  await symlink(target, join(home, "hook.jsonl"));
  await noteHook(home, "{}", 1_000);
  expect(await readFile(target, "utf8")).toBe("mine");
  await rm(join(home, "hook.jsonl"));
  await noteHook(home, "{}", 1_000);
  expect(await lastNote(home)).toBe(1_000);
});

describe.runIf(process.getuid?.() === 0)("as root", () => {
  const STRANGER = 54_321;

  it.each(["owns", "can write to"])(
    "a folder that another user %s gets no file, and loses none",
    async (kind) => {
      await writeFile(path, "{}\n");
      if (kind === "owns") await chown(folder, STRANGER, STRANGER);
      else await chmod(folder, 0o777);
      const before = await readSettingsFile(path);
      for (const text of ["{ }", undefined])
        await expect(replaceSettingsFile(before, text)).rejects.toMatchObject({ reason: "unsafe_folder" });
      await expect(write(KEY)).rejects.toMatchObject({ reason: "unsafe_folder" });
      await noteHook(home, "{}", 1_000);
      expect(await readdir(folder)).toEqual(["settings.json"]);
      expect(await readFile(path, "utf8")).toBe("{}\n");
    },
  );

  it("a file of another user in a folder of root keeps its owner", async () => {
    await writeFile(path, "{}\n");
    await chown(path, STRANGER, STRANGER);
    await write(KEY);
    const { uid, gid, mode } = statSync(path);
    expect({ uid, gid, mode: mode & 0o777 }).toEqual({ uid: STRANGER, gid: STRANGER, mode: 0o600 });
  });
});
