import { appendFile, mkdtemp, rename, rm, truncate, utimes, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { FollowedFile, OpenFiles } from "./followed-file.ts";

let folder: string;
let path: string;
let open: OpenFiles;
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), "plimsoll-followed-"));
  path = join(folder, "a.jsonl");
  open = new OpenFiles();
});
afterEach(async () => {
  await open.closeAll();
  await rm(folder, { recursive: true, force: true });
});

/** Writes without changing the file's identity, and gives it another time of change than before. */
let writes = 0;
const touch = (file = path) => utimes(file, new Date(), new Date(Date.UTC(2026, 0, 1) + ++writes * 1_000));
const append = async (text: string, file = path) => {
  await appendFile(file, text);
  await touch(file);
};

describe("FollowedFile", () => {
  it("returns only new and complete lines", async () => {
    await append("1\n2");
    const file = new FollowedFile(path, open);
    expect(await file.poll()).toEqual(["1"]);
    expect(await file.poll()).toEqual([]);
    await append("2\n3\n");
    expect(await file.poll()).toEqual(["22", "3"]);
  });

  it.each([
    ["shorter", "x\n"],
    ["as long", "5\n6\n7\n8\n"],
    ["longer", "5\n6\n7\n8\n9\n10\n"],
    ["longer, with the same start", "1\n2\n7\n8\n9\n"],
    ["longer, with the same end of what was read", "5\n2\n3\n4\n9\n"],
  ])("reads a file again that was truncated and rewritten between two polls: %s", async (_, content) => {
    await append("1\n2\n3\n4\n");
    const file = new FollowedFile(path, open);
    expect(await file.poll()).toEqual(["1", "2", "3", "4"]);
    await truncate(path, 0);
    await append(content);
    expect(await file.poll()).toEqual(content.trim().split("\n"));
  });

  it("reads the lines written before a rename, then those of the new file", async () => {
    await append("1\n");
    const file = new FollowedFile(path, open);
    expect(await file.poll()).toEqual(["1"]);
    await append("2\n3");
    await rename(path, join(folder, "a.1"));
    await append("\n4\n", join(folder, "a.1"));
    await append("5\n");
    expect(await file.poll()).toEqual(["2", "3", "4", "5"]);
    await append("6\n");
    expect(await file.poll()).toEqual(["6"]);
  });

  it("reads a renamed file to its end while no new file has its name", async () => {
    await append("1\n");
    const file = new FollowedFile(path, open);
    await file.poll();
    await append("2\n");
    await rename(path, join(folder, "a.1"));
    expect(await file.poll()).toEqual(["2"]);
    expect(await file.poll()).toBeUndefined();
    await append("3\n", join(folder, "a.1"));
    await append("4\n");
    expect(await file.poll()).toEqual(["3", "4"]);
  });

  it("keeps a limited number of files open, and continues those that it closed", async () => {
    const few = new OpenFiles(2);
    const paths = ["b", "c", "d", "e"].map((name) => join(folder, name));
    const files = paths.map((one) => new FollowedFile(one, few));
    for (const one of paths) await writeFile(one, "1\n");
    for (const file of files) expect(await file.poll()).toEqual(["1"]);
    expect(files.filter((file) => few.get(file) !== undefined)).toEqual(files.slice(2));
    for (const one of paths) await append("2\n", one);
    for (const file of files) expect(await file.poll()).toEqual(["2"]);
    await few.closeAll();
  });

  it("releases a file that no longer exists", async () => {
    await append("1\n");
    const file = new FollowedFile(path, open);
    await file.poll();
    await rm(path);
    expect(await file.poll()).toBeUndefined();
    await file.close();
    expect(open.get(file)).toBeUndefined();
    await append("2\n");
    expect(await file.poll()).toEqual(["2"]);
  });

  it("returns nothing for a missing file, and its lines once it exists", async () => {
    const file = new FollowedFile(path, open);
    expect(await file.poll()).toBeUndefined();
    await append("1\n");
    expect(await file.poll()).toEqual(["1"]);
  });
});
