import { existsSync } from "node:fs";
import {
  chmod,
  chown,
  lchown,
  mkdir,
  mkdtemp,
  realpath,
  rm,
  stat,
  symlink,
  writeFile,
} from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { makeFolder, trustedPath } from "./folder.ts";

let base: string;
beforeEach(async () => {
  base = await mkdtemp(join(tmpdir(), "plimsoll-folder-"));
});
afterEach(() => rm(base, { recursive: true, force: true }));

describe("making a folder", () => {
  it("makes those above it too, and leaves one that is there", async () => {
    const path = join(base, "a", "b", "c");
    await makeFolder(path, 0o700);
    await makeFolder(path, 0o755);
    expect((await stat(path)).mode & 0o777).toBe(0o700);
    await symlink(path, join(base, "link"));
    await makeFolder(join(base, "link", "d"), 0o700);
    expect(existsSync(join(path, "d"))).toBe(true);
  });

  it("says what stands in the way", async () => {
    await writeFile(join(base, "file"), "");
    await expect(makeFolder(join(base, "file"), 0o700)).rejects.toMatchObject({ code: "EEXIST" });
    await expect(makeFolder(join(base, "file", "a", "b"), 0o700)).rejects.toMatchObject({ code: "ENOTDIR" });
    await symlink(join(base, "nowhere"), join(base, "dangling"));
    await expect(makeFolder(join(base, "dangling"), 0o700)).rejects.toMatchObject({ code: "EEXIST" });
  });

  it.skipIf(!existsSync("/proc/self"))("comes back where no folder can be made", async () => {
    await expect(makeFolder("/proc/plimsoll/a", 0o700)).rejects.toThrow();
  });
});

describe.runIf(process.getuid?.() === 0)("a path for root", () => {
  const refusal = (folder: string, why: RegExp) => ({
    code: "root_unsupported",
    message: expect.stringMatching(new RegExp(`${folder} ${why.source}`)),
    hint: expect.stringContaining(`chown root '${folder}' && chmod go-w '${folder}'`),
  });

  it("is returned without links, and need not exist", async () => {
    const real = await realpath(base);
    await mkdir(join(base, "a"));
    await symlink("a", join(base, "relative"));
    await symlink(join(base, "relative", ".."), join(base, "absolute"));
    expect(await trustedPath(join(base, "relative", "new", "home"))).toBe(join(real, "a", "new", "home"));
    expect(await trustedPath(join(base, "absolute", "a"))).toBe(join(real, "a"));
  });

  it("may lie in a sticky folder such as /tmp, and not be one", async () => {
    await mkdir(join(base, "sticky", "home"), { recursive: true });
    await chmod(join(base, "sticky"), 0o1777);
    expect(await trustedPath(join(base, "sticky", "home"))).toMatch(/sticky\/home$/);
    await expect(trustedPath(join(base, "sticky"))).rejects.toMatchObject(
      refusal(join(base, "sticky"), /is writable for every user/),
    );
  });

  it.each<[string, (folder: string) => Promise<void>, RegExp]>([
    ["belongs to another user", (folder) => chown(folder, 54_321, 0), /belongs to the user with uid 54321/],
    ["is writable for its group", (folder) => chmod(folder, 0o775), /is writable for its group/],
    ["is writable for every user", (folder) => chmod(folder, 0o757), /is writable for every user/],
  ])("is refused if a part of it %s", async (_, spoil, why) => {
    const folder = join(base, "part");
    await mkdir(join(folder, "home"), { recursive: true });
    await spoil(folder);
    for (const path of [folder, join(folder, "home"), join(folder, "missing", "home")]) {
      await expect(trustedPath(path)).rejects.toMatchObject(refusal(folder, why));
    }
  });

  it("is refused if another user can change a link in it", async () => {
    const link = join(base, "link");
    await mkdir(join(base, "home"));
    await symlink("home", link);
    await lchown(link, 54_321, 54_321);
    await expect(trustedPath(link)).rejects.toMatchObject(refusal(link, /belongs to the user/));
  });

  it("is refused if it leads in a circle", async () => {
    await symlink("circle", join(base, "circle"));
    await expect(trustedPath(join(base, "circle"))).rejects.toMatchObject({ code: "root_unsupported" });
  });
});

it.skipIf(process.getuid?.() === 0)("a path for an ordinary user is left as it is", async () => {
  expect(await trustedPath(join(base, "..", "x"))).toBe(join(base, "..", "x"));
});
