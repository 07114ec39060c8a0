import { chmod, chown, mkdtemp, readdir, readFile, rm, stat, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { pino } from "pino";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { makeLocalToken, shapeOf } from "./key-format.ts";
import { LOCAL_TOKEN_FILE, openLocalToken } from "./local-token.ts";

const log = pino({ level: "silent" });
let home: string;
let file: string;

beforeEach(async () => {
  home = await mkdtemp(join(tmpdir(), "plimsoll-token-"));
  file = join(home, LOCAL_TOKEN_FILE);
});
afterEach(() => rm(home, { recursive: true, force: true }));

const read = async () => (await readFile(file, "utf8")).trim();

describe("the local token", () => {
  it("is made for its owner's eyes only, in a home made if need be", async () => {
    const deep = join(home, "new", "home");
    const token = await openLocalToken({ home: deep, log });
    const text = (await readFile(join(deep, LOCAL_TOKEN_FILE), "utf8")).trim();
    expect(shapeOf(text)).toBe("local");
    expect((await stat(join(deep, LOCAL_TOKEN_FILE))).mode & 0o777).toBe(0o600);
    expect(await token.matches(text)).toBe(true);
    expect(await token.matches(makeLocalToken())).toBe(false);
  });

  it("is one for all processes of a home that start at once", async () => {
    const tokens = await Promise.all(Array.from({ length: 8 }, () => openLocalToken({ home, log })));
    const text = await read();
    for (const token of tokens) expect(await token.matches(text)).toBe(true);
    expect(await readdir(home)).toEqual([LOCAL_TOKEN_FILE]);
  });

  it("is made again when its maker died in the middle", async () => {
    await writeFile(file, "plim_loc");
    const token = await openLocalToken({ home, log });
    expect(await token.matches(await read())).toBe(true);
  });

  it("is not taken from a link, nor from another user", async () => {
    const elsewhere = join(home, "elsewhere");
    await writeFile(elsewhere, makeLocalToken(), { mode: 0o644 });
    await symlink(elsewhere, file);
    await expect(openLocalToken({ home, log })).rejects.toMatchObject({ code: "data_folder_unwritable" });
    expect((await stat(elsewhere)).mode & 0o777).toBe(0o644);
    if (process.getuid?.() !== 0) return;
    await rm(file);
    await writeFile(file, makeLocalToken(), { mode: 0o600 });
    await chown(file, 12_345, 12_345);
    await expect(openLocalToken({ home, log })).rejects.toMatchObject({ code: "data_folder_unwritable" });
  });

  it("is closed to others again when somebody opened it", async () => {
    await openLocalToken({ home, log });
    await chmod(file, 0o644);
    await openLocalToken({ home, log });
    expect((await stat(file)).mode & 0o777).toBe(0o600);
  });

  it("changes when the file is deleted and another process makes it again", async () => {
    let time = 0;
    const token = await openLocalToken({ home, log, now: () => time });
    const before = await read();
    await rm(file);
    await openLocalToken({ home, log });
    const after = await read();
    expect(await token.matches(after)).toBe(false);
    time += 1_000;
    expect(await token.matches(after)).toBe(true);
    expect(await token.matches(before)).toBe(false);
  });

  it("says what to do when its folder cannot be made", async () => {
    await writeFile(join(home, "taken"), "");
    await expect(openLocalToken({ home: join(home, "taken"), log })).rejects.toMatchObject({
      code: "data_folder_unwritable",
      hint: expect.stringContaining("PLIMSOLL_HOME"),
    });
  });
});
