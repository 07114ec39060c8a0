import { mkdtemp, readdir, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { runLoop } from "../loop/index.ts";
import { orchestrate } from "../orchestrate/index.ts";
import { fileLoopStore, fileRunStore, writeAtomic } from "./run-stores.ts";

let folder = "";
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), "guard-files-"));
});
afterEach(() => rm(folder, { recursive: true }));

it("replaces a file atomically, and leaves nothing behind if a write fails", async () => {
  const path = join(folder, "deep", "state.json");
  await writeAtomic(path, "one");
  await Promise.all(Array.from({ length: 20 }, (_, at) => writeAtomic(path, `${at}`.repeat(10_000))));
  const text = await readFile(path, "utf8");
  expect(new Set(text.match(/../g)).size).toBeLessThanOrEqual(2);
  expect(await readdir(join(folder, "deep"))).toEqual(["state.json"]);
  await expect(writeAtomic(join(folder, "deep"), "x")).rejects.toThrow();
  expect(await readdir(folder)).toEqual(["deep"]);
});

it("a file with several writers always holds one complete text", async () => {
  const path = join(folder, "shared.json");
  const text = (writer: number) => JSON.stringify({ writer, filler: `${writer}`.repeat(20_000) });
  await writeAtomic(path, text(0));
  const reads: string[] = [];
  let writing = true;
  const reader = (async () => {
    while (writing) reads.push(await readFile(path, "utf8"));
  })();
  await Promise.all(Array.from({ length: 20 }, (_, writer) => writeAtomic(path, text(writer))));
  writing = false;
  await reader;
  const possible = new Set(Array.from({ length: 20 }, (_, writer) => text(writer)));
  for (const read of reads) expect(possible.has(read)).toBe(true);
  expect((await readdir(folder)).filter((name) => name.endsWith(".tmp"))).toEqual([]);
});

describe("stores on disk", () => {
  it("store a loop [P16]", async () => {
    const store = fileLoopStore(join(folder, "loop.json"));
    const options = {
      goal: "g",
      loop: "l",
      harness: "h",
      store,
      tick: async () => ({ status: "done" as const, result: 7 }),
      summarize: async () => ({ accomplished: [], remaining: [], findings: [] }),
    };
    expect(await runLoop(options)).toMatchObject({ end: "done", results: [7] });
    expect(await runLoop(options)).toMatchObject({ end: "done", results: [7], iterations: 1 });
  });

  it("store a run, changing only the lines of the edited fields [A12]", async () => {
    const path = join(folder, "state.json");
    const store = fileRunStore(path);
    await orchestrate({
      run: "r",
      harness: "h",
      phases: Array.from({ length: 9 }, (_, at) => ({ id: `p${at}`, name: "P" })),
      store,
      runPhase: async () => ({ status: "completed", summary: "ok" }),
    });
    const before = (await readFile(path, "utf8")).split("\n");
    await store.apply([{ path: ["phases", "p3", "score"], value: 9.5 }]);
    const after = (await readFile(path, "utf8")).split("\n");
    expect(after.filter((line, at) => line !== before[at])).toEqual(['      "score": 9.5,']);
  });
});
