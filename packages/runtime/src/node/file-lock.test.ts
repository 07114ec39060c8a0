import { mkdir, mkdtemp, readdir, readFile, rm, utimes, writeFile } from "node:fs/promises";
import { hostname, tmpdir } from "node:os";
import { join } from "node:path";
import { lockFile } from "@plimsoll/guard/node";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { childProgram, runChild, startChild } from "../../../guard/src/testing/child-process.ts";
import type { RunState } from "../orchestrate/index.ts";
import { fileLoopStore, fileRunStore } from "./run-stores.ts";

let folder = "";
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), "guard-lock-"));
});
afterEach(() => rm(folder, { recursive: true }));

/**
 * Runs one phase, named by the second argument. With mode `hang` it never ends; with `again` it retries until the
 * lock is free.
 */
const ORCHESTRATOR = `
import { appendFileSync } from "node:fs";
import { setTimeout } from "node:timers/promises";
import { GuardError } from "@plimsoll/guard";
import { fileRunStore } from "@plimsoll/runtime/node";
import { orchestrate } from "@plimsoll/runtime";

const [path, id, mode] = process.argv.slice(2) as [string, string, string | undefined];
for (;;) {
  try {
    const { status } = await orchestrate({
      run: "r", harness: "h", phases: [{ id, name: id }], store: fileRunStore(path),
      runPhase: async ({ resumed }) => {
        console.log(resumed ? "resumed" : "running");
        if (mode === "hang") await new Promise(() => setInterval(() => {}, 1_000));
        appendFileSync(path + ".log", "in " + id + "\\n");
        await setTimeout(15);
        appendFileSync(path + ".log", "out " + id + "\\n");
        return { status: "completed", summary: "done by " + id };
      },
    });
    console.log(status);
    break;
  } catch (error) {
    if (!(error instanceof GuardError) || error.code !== "store_locked") throw error;
    console.log(error.message);
    if (mode !== "again") process.exit(3);
    await setTimeout(10);
  }
}
`;

const stateOf = async (path: string) => JSON.parse(await readFile(path, "utf8")) as RunState;

describe("several orchestrator processes on one state.json", () => {
  it("refuse the second with the holder's pid and what to do, and take over from a killed one", async () => {
    const program = await childProgram(folder, ORCHESTRATOR);
    const path = join(folder, "deep", "state.json");
    const first = startChild(program, path, "20", "hang");
    await first.said("running");
    const second = await runChild(program, path, "20");
    expect(second).toMatchObject({ code: 3 });
    expect(second.stdout).toContain(
      `state.json is in use: process ${first.child.pid} on this machine has held it since 20`,
    );
    expect(second.stdout).toContain("Wait for it to end, or end it, and call again");
    first.child.kill("SIGKILL");
    await first.ended;
    expect(await readdir(`${path}.lock`)).toHaveLength(2);
    expect((await runChild(program, path, "20")).stdout).toBe("resumed\ncompleted\n");
    expect(await readdir(join(folder, "deep"))).toEqual(["state.json", "state.json.log"]);
  });

  it("run one after another without losing each other's changes [A12]", async () => {
    const program = await childProgram(folder, ORCHESTRATOR);
    const path = join(folder, "state.json");
    const ids = ["a", "b", "c", "d", "e"];
    const ends = await Promise.all(ids.map((id) => runChild(program, path, id, "again")));
    expect(ends.map(({ code, stderr }) => [code, stderr])).toEqual(ids.map(() => [0, ""]));
    const { phases } = await stateOf(path);
    expect(Object.keys(phases).sort()).toEqual(ids);
    for (const id of ids) expect(phases[id]).toMatchObject({ status: "completed", summary: `done by ${id}` });
    const log = (await readFile(`${path}.log`, "utf8")).trim().split("\n");
    for (let at = 0; at < log.length; at += 2) expect(log[at + 1]).toBe(log[at]!.replace("in", "out"));
  });
});

describe("a lock", () => {
  it("is refused within one process too, and can be taken again after its release", async () => {
    const path = join(folder, "loop.json");
    const release = await fileLoopStore(path).claim!();
    await expect(fileLoopStore(path).claim!()).rejects.toMatchObject({
      code: "store_locked",
      message: expect.stringContaining(`another call in this process (${process.pid})`),
    });
    await expect(fileRunStore(path).apply([{ path: ["x"], value: 1 }])).rejects.toMatchObject({
      code: "store_locked",
    });
    await release();
    await (await fileLoopStore(path).claim!())();
    expect(await readdir(folder)).toEqual([]);
  });

  it("has at most one holder under simultaneous requests", async () => {
    const path = join(folder, "state.json");
    let inside = 0;
    let most = 0;
    let entered = 0;
    const one = async (): Promise<void> => {
      try {
        const lock = await lockFile(path);
        most = Math.max(most, ++inside);
        entered++;
        await new Promise((resolve) => setTimeout(resolve, 3));
        inside--;
        await lock.release();
      } catch (error) {
        expect(error).toMatchObject({ code: "store_locked" });
        await new Promise((resolve) => setTimeout(resolve, 3));
        return one();
      }
    };
    await Promise.all(Array.from({ length: 12 }, one));
    expect([most, entered]).toEqual([1, 12]);
  });

  it("stops the writes of a process that lost its lock", async () => {
    const path = join(folder, "state.json");
    const store = fileRunStore(path);
    await store.claim!();
    await store.apply([{ path: ["x"], value: 1 }]);
    await rm(`${path}.lock`, { recursive: true });
    await expect(store.apply([{ path: ["x"], value: 2 }])).rejects.toMatchObject({ code: "store_lost" });
    expect(JSON.parse(await readFile(path, "utf8"))).toEqual({ x: 1 });
  });

  it.each([
    ["a reused pid", { life: "another boot/1" }, 0, process.platform !== "linux"],
    ["a dead pid", { pid: 2 ** 22 + 1 }, 0, false],
    ["another machine with a recent heartbeat", { host: "elsewhere" }, 0, true],
    ["another machine without a heartbeat for a minute", { host: "elsewhere" }, 61_000, false],
    ["another container with a recent heartbeat", { space: "pid:[1]" }, 0, true],
    ["an unreadable claim, a minute old", "", 61_000, false],
  ])("left by %s is respected or taken over", async (_, left, silentMs, isRefused) => {
    const path = join(folder, "state.json");
    const own = await lockFile(path);
    const [ask] = (await readdir(`${path}.lock`)).filter((name) => name.endsWith(".ask"));
    const mine = JSON.parse(await readFile(join(`${path}.lock`, ask!), "utf8"));
    expect(mine).toMatchObject({ pid: process.pid, host: hostname() });
    await own.release();
    await mkdir(`${path}.lock`);
    const theirs = join(`${path}.lock`, "0123.ask");
    await writeFile(theirs, typeof left === "string" ? left : JSON.stringify({ ...mine, ...left }));
    await writeFile(join(`${path}.lock`, "0123.held"), "");
    const then = new Date(Date.now() - silentMs);
    await utimes(theirs, then, then);
    const taken = lockFile(path);
    if (isRefused) await expect(taken).rejects.toMatchObject({ code: "store_locked" });
    else await (await taken).release();
    expect(await readdir(folder)).toEqual(isRefused ? ["state.json.lock"] : []);
  });
});
