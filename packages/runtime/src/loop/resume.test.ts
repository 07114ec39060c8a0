import { mkdtemp, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { PlimsollEventInput } from "@plimsoll/protocol/events";
import { describe, expect, it } from "vitest";
import { childProgram, runChild } from "../../../guard/src/testing/child-process.ts";
import {
  type Continuation,
  type LoopOptions,
  type LoopResult,
  type LoopState,
  memoryLoopStore,
  runLoop,
} from "./index.ts";
import { newLoop } from "./state.ts";
import { options, worker } from "./testing.ts";

describe("an ended loop", () => {
  const ends = async (setup: LoopOptions) => {
    const { end, iterations } = await runLoop(setup);
    return [end, iterations];
  };

  it.each([
    ["iterations", { maxIterations: 2 }, { maxIterations: 9 }],
    ["cost", { maxCostUsd: 0.02 }, { maxCostUsd: 1 }],
    ["time", { maxMs: 35 }, {}],
  ] as const)("continues after its limit of %s is raised, and not before", async (end, low, high) => {
    const events: PlimsollEventInput[] = [];
    const setup = options({ tick: worker([1, 1, 1, 1]), ...low }, events);
    expect(await ends(setup)).toEqual([end, 2]);
    const told = events.length;
    expect(await ends(setup)).toEqual([end, 2]);
    expect(await ends({ ...setup, resume: true })).toEqual([end, 2]);
    expect(events).toHaveLength(told);
    const { maxIterations, maxCostUsd, maxMs, ...open } = setup;
    expect(await ends({ ...open, ...high })).toEqual(["done", 4]);
  });

  it("continues in the interrupted tick after an abort", async () => {
    const abort = new AbortController();
    const seen: string[] = [];
    const setup = options({
      signal: abort.signal,
      tick: async ({ iteration, resumed, observe }) => {
        seen.push(`${iteration}${resumed ? " again" : ""}`);
        if (iteration === 1) return { status: "next" };
        if (seen.length > 2) return { status: "done" };
        observe({ usage: { prompt_tokens: 10 } }, { costUsd: 0.5 });
        abort.abort();
        throw new Error("the call was aborted");
      },
    });
    expect(await runLoop(setup)).toMatchObject({ end: "aborted", iterations: 1, costUsd: 0.5 });
    expect(await ends(setup)).toEqual(["aborted", 1]);
    const { signal, ...free } = setup;
    expect(await runLoop(free)).toMatchObject({ end: "done", iterations: 2, lastError: undefined });
    expect(seen).toEqual(["1", "2", "2 again"]);
  });

  it("continues only with `resume` after blocked, failed or no_progress", async () => {
    let open = false;
    const stuck: Continuation = { accomplished: [], remaining: ["everything"], findings: [] };
    const ticks: Record<string, LoopOptions["tick"]> = {
      blocked: async () => ({ status: open ? "done" : "blocked" }),
      failed: async () => {
        if (!open) throw new Error("no network");
        return { status: "done" };
      },
      no_progress: async () => (open ? { status: "done" } : { status: "yield" }),
    };
    for (const [end, tick] of Object.entries(ticks)) {
      open = false;
      const setup = options({ tick, summarize: async () => stuck });
      expect(await ends(setup)).toEqual([end, 0]);
      open = true;
      expect(await ends(setup)).toEqual([end, 0]);
      expect(await ends({ ...setup, resume: true })).toEqual(["done", 1]);
    }
  });

  it("never continues after done", async () => {
    const setup = options({ tick: worker([1]) });
    expect(await ends(setup)).toEqual(["done", 1]);
    expect(await ends({ ...setup, resume: true, maxIterations: 99 })).toEqual(["done", 1]);
  });
});

describe("a tick whose process is killed every time", () => {
  it("starts at most three times, and its known cost and time count", async () => {
    const folder = await mkdtemp(join(tmpdir(), "guard-loop-"));
    try {
      const program = await childProgram(
        folder,
        `
        import { readFileSync } from "node:fs";
        import { setTimeout } from "node:timers/promises";
        import { runLoop } from "@plimsoll/runtime";
        import { fileLoopStore } from "@plimsoll/runtime/node";
        const result = await runLoop({
          goal: "g", loop: "l", harness: "h", windowTokens: 1_000,
          store: fileLoopStore(process.argv[2]!),
          resume: process.argv[3] === "resume",
          summarize: async () => ({ accomplished: [], remaining: [], findings: [] }),
          tick: async ({ iteration, resumed, observe }) => {
            if (iteration === 1) return { status: "next" };
            if (process.argv[3] === "resume") return { status: "done", result: resumed };
            await setTimeout(60);
            observe({ id: "m", usage: { prompt_tokens: 10 } }, { costUsd: 0.25 });
            while (JSON.parse(readFileSync(process.argv[2]!, "utf8")).running?.costUsd !== 0.25) await setTimeout(5);
            process.kill(process.pid, "SIGKILL");
            return await new Promise(() => setInterval(() => {}, 1_000));
          },
        });
        console.log(JSON.stringify(result));
        `,
      );
      const path = join(folder, "loop.json");
      for (let died = 1; died <= 3; died++) {
        expect(await runChild(program, path)).toMatchObject({ signal: "SIGKILL", stdout: "" });
      }
      const { stdout, code } = await runChild(program, path);
      const result = JSON.parse(stdout) as LoopResult;
      expect({ ...result, code }).toMatchObject({
        end: "tick_crashes",
        iterations: 1,
        costUsd: 0.75,
        code: 0,
      });
      expect(result.lastError).toMatch(/^The process ended 3 times during tick 2\.0\..*resume: true\.$/);
      expect(JSON.parse(await readFile(path, "utf8")).elapsedMs).toBeGreaterThanOrEqual(3 * 50);
      expect(JSON.parse((await runChild(program, path)).stdout)).toMatchObject({ end: "tick_crashes" });
      const resumed = await runChild(program, path, "resume");
      expect(JSON.parse(resumed.stdout)).toMatchObject({ end: "done", results: [null, true], costUsd: 0.75 });
    } finally {
      await rm(folder, { recursive: true });
    }
  });

  it("resets its crash count after returning, and counts the cost and time of crashed attempts", async () => {
    const died = (over: Partial<LoopState>) => {
      const store = memoryLoopStore();
      store.write({ ...newLoop("l1", "g", { done: [] }), step: "running", ...over });
      return store;
    };
    const running = { since: 1_000, last: 61_000, costUsd: 2 };
    const cost = options({ store: died({ running }), maxCostUsd: 2 });
    expect(await runLoop(cost)).toMatchObject({ end: "cost", costUsd: 2 });
    const time = options({ store: died({ running }), maxMs: 60_000 });
    expect(await runLoop(time)).toMatchObject({ end: "time" });
    const store = died({ crashes: 1 });
    expect(await runLoop(options({ store }))).toMatchObject({ end: "done" });
    expect(store.read()).toMatchObject({ crashes: 0, interrupted: false });
    expect(await runLoop(options({ store: died({ crashes: 1 }), maxCrashes: 2 }))).toMatchObject({
      end: "tick_crashes",
    });
    // States stored by older versions lack these fields.
    const { crashes, interrupted, running: _, ...old } = newLoop("l1", "g", { done: [] });
    const aged = memoryLoopStore();
    aged.text = JSON.stringify({ ...old, step: "running" });
    expect(await runLoop(options({ store: aged }))).toMatchObject({ end: "done" });
  });

  it("limits the attempts at a summary, and counts their cost", async () => {
    let broken = true;
    let tries = 0;
    const events: PlimsollEventInput[] = [];
    const setup = options(
      {
        tick: async ({ sub }) => (sub === 0 ? { status: "yield", notes: "n" } : { status: "done" }),
        summarize: async ({ observe }) => {
          tries++;
          observe({ id: `s${tries}`, usage: { prompt_tokens: 5_000 } }, { costUsd: 0.5 });
          if (broken) throw new Error("no network");
          return { accomplished: ["some"], remaining: [], findings: [] };
        },
      },
      events,
    );
    for (let attempt = 0; attempt < 3; attempt++) await expect(runLoop(setup)).rejects.toThrow("no network");
    expect(await runLoop(setup)).toMatchObject({
      end: "summary_failed",
      costUsd: 1.5,
      lastError: "summarize failed 3 times for the same tick. Last error: no network",
    });
    expect(tries).toBe(3);
    broken = false;
    expect(await runLoop({ ...setup, resume: true })).toMatchObject({
      end: "done",
      costUsd: 2,
      boundaries: 1,
    });
    const turns = events.filter((event) => event.type === "turn");
    expect(turns).toHaveLength(4);
    for (const turn of turns) expect(turn).toMatchObject({ purpose: "compaction" });
    const limited = options({ ...setup, store: memoryLoopStore(), maxCostUsd: 0.5 });
    expect(await runLoop(limited)).toMatchObject({ end: "cost", boundaries: 1 });
  });

  it("reports that its progress could not be stored", async () => {
    const store = memoryLoopStore();
    let full = false;
    const setup = options({
      store: {
        read: () => store.read(),
        write: (state) => {
          if (full) throw new Error("disk full");
          store.write(state);
        },
      },
      tick: async ({ observe }) => {
        full = true;
        observe({ usage: { prompt_tokens: 10 } });
        await new Promise((resolve) => setTimeout(resolve, 0));
        full = false;
        return { status: "done" };
      },
    });
    await expect(runLoop(setup)).rejects.toThrow("disk full");
    expect(store.read()).toMatchObject({ step: "running" });
  });
});
