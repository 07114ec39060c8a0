import { mkdtemp, rm, utimes, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { FollowedDocument } from "./followed-document.ts";

let folder: string;
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), "plimsoll-document-"));
});
afterEach(() => rm(folder, { recursive: true, force: true }));

/** Gives each content another time of change. */
let writes = 0;
const write = async (path: string, content: string) => {
  await writeFile(path, content);
  await utimes(path, new Date(), new Date(Date.UTC(2026, 0, 1) + ++writes * 1_000));
};

describe("FollowedDocument", () => {
  it("returns the document again only after a change", async () => {
    const path = join(folder, "T-1.json");
    const file = new FollowedDocument(path, () => 0);
    expect(await file.poll()).toBeUndefined();
    await write(path, '{"a":1}');
    expect(await file.poll()).toEqual(['{"a":1}']);
    expect(await file.poll()).toEqual([]);
    await write(path, '{"a":2}');
    expect(await file.poll()).toEqual(['{"a":2}']);
  });

  it("rests after a read that takes long, then returns the last state", async () => {
    const path = join(folder, "T-1.json");
    let now = 0;
    let cost = 10;
    const file = new FollowedDocument(path, () => {
      now += cost;
      return now;
    });
    await write(path, '{"a":1}');
    expect(await file.poll()).toEqual(['{"a":1}']);
    cost = 0;
    await write(path, '{"a":2}');
    expect(await file.poll()).toEqual([]);
    await write(path, '{"a":3}');
    now += 1_000;
    expect(await file.poll()).toEqual(['{"a":3}']);
  });

  it("notices a change of the write-ahead log alone", async () => {
    const path = join(folder, "T-1.json");
    await write(path, '{"a":1}');
    const file = new FollowedDocument(path, () => 0);
    await file.poll();
    await write(`${path}-wal`, "x");
    expect(await file.poll()).toEqual(['{"a":1}']);
  });
});
