import { existsSync } from "node:fs";
import { mkdtemp, rm, stat, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { makeFolder } from "./folder.ts";

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
