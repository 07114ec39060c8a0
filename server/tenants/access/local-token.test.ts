import { chmod, chown, mkdtemp, readdir, readFile, rm, stat, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { pino } from "pino";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { LOCAL_TOKEN_FILE } from "../../db/postgres/layout.ts";
import { makeLocalToken, shapeOf } from "../../key-format.ts";
import { makeFifo } from "../../testing/fifo.ts";
import { openLocalToken } from "./local-token.ts";

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

  it.skipIf(process.platform === "win32")("is not read through a link or from a FIFO", async () => {
    const elsewhere = join(home, "elsewhere");
    await writeFile(elsewhere, `${makeLocalToken()}\n`, { mode: 0o644 });
    await symlink(elsewhere, file);
    const refusal = { code: "data_folder_unwritable", message: expect.stringContaining("is a link") };
    await expect(openLocalToken({ home, log })).rejects.toMatchObject(refusal);
    expect((await stat(elsewhere)).mode & 0o777).toBe(0o644);
    await rm(file);
    makeFifo(file);
    await expect(openLocalToken({ home, log })).rejects.toMatchObject(refusal);
  });

  it.runIf(process.getuid?.() === 0)("is refused if it belongs to another user", async () => {
    await openLocalToken({ home, log });
    const used = await openLocalToken({ home, log, now: () => Number.MAX_SAFE_INTEGER });
    const planted = makeLocalToken();
    await writeFile(file, `${planted}\n`);
    await chown(file, 54_321, 54_321);
    expect(await used.matches(planted)).toBe(false);
    await expect(openLocalToken({ home, log })).rejects.toMatchObject({
      code: "data_folder_unwritable",
      message: expect.stringContaining(`${file}: it belongs to the user with uid 54321`),
      hint: expect.stringContaining("Delete it"),
    });
  });

  it.runIf(process.getuid?.() === 0)("is not kept by root where another user can replace it", async () => {
    await chown(home, 54_321, 54_321);
    await expect(openLocalToken({ home, log })).rejects.toMatchObject({ code: "root_unsupported" });
    expect(await readdir(home)).toEqual([]);
  });

  it("says what to do when its folder cannot be made", async () => {
    await writeFile(join(home, "taken"), "");
    await expect(openLocalToken({ home: join(home, "taken"), log })).rejects.toMatchObject({
      code: "data_folder_unwritable",
      hint: expect.stringContaining("PLIMSOLL_HOME"),
    });
  });
});
