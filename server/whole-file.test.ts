import { mkdir, mkdtemp, readdir, readFile, rm, stat, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, it } from "vitest";
import { makeFifo } from "./testing/fifo.ts";
import { makeFile, replaceFile } from "./whole-file.ts";

let folder: string;
let file: string;

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), "plimsoll-whole-"));
  file = join(folder, "file");
});
afterEach(() => rm(folder, { recursive: true }));

it("makes a file that only its owner can read, once", async () => {
  const texts = Array.from({ length: 8 }, (_, n) => `text ${n}`);
  const outcomes = await Promise.all(texts.map((text) => makeFile(file, text)));
  expect(outcomes.filter((outcome) => outcome === "made")).toHaveLength(1);
  expect(await readFile(file, "utf8")).toBe(texts[outcomes.indexOf("made")]);
  expect((await stat(file)).mode & 0o777).toBe(0o600);
  expect(await readdir(folder)).toEqual(["file"]);
});

it("replaces a file as a whole, however many do so", async () => {
  await writeFile(file, "old", { mode: 0o644 });
  await Promise.all([1, 2, 3].map((n) => replaceFile(file, `${n}`.repeat(100_000))));
  expect(await readFile(file, "utf8")).toMatch(/^(1{100000}|2{100000}|3{100000})$/);
  expect((await stat(file)).mode & 0o777).toBe(0o600);
  expect(await readdir(folder)).toEqual(["file"]);
});

it("writes through no link, and waits for no reader of a FIFO", async () => {
  await writeFile(join(folder, "other"), "untouched");
  await symlink("other", file);
  expect(await makeFile(file, "new")).toBe("exists");
  await replaceFile(file, "new");
  expect(await readFile(join(folder, "other"), "utf8")).toBe("untouched");
  await rm(file);
  makeFifo(file);
  expect(await makeFile(file, "new")).toBe("exists");
  await replaceFile(file, "new");
  expect(await readFile(file, "utf8")).toBe("new");
});

it("leaves nothing behind if it cannot put the file in place", async () => {
  await mkdir(join(file, "full"), { recursive: true });
  await expect(replaceFile(file, "new")).rejects.toThrow();
  expect(await makeFile(file, "new")).toBe("exists");
  await expect(makeFile(join(folder, "missing", "file"), "new")).rejects.toThrow("ENOENT");
  expect(await readdir(folder)).toEqual(["file"]);
});
