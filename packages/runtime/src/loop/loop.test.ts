import type { PlimsollEventInput } from "@plimsoll/protocol/events";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { type Continuation, type HandleKind, type LoopOptions, memoryLoopStore, runLoop } from "./index.ts";
import { options, worker } from "./testing.ts";

describe("runLoop", () => {
  it.each<[over: object, message: string]>([
    [{ maxSubTick: 3 }, "maxSubTick: is no option. Options: goal, loop,"],
    [{ tick: undefined }, "tick: is missing."],
    [{ maxMs: -1 }, "maxMs: -1 must be a time in ms of 0 or more."],
  ])("refuses %j by its name, before the first tick", async (over, message) => {
    await expect(runLoop(options(over))).rejects.toThrow(message);
  });

  it("continues an iteration in a fresh context at its limit, and reports only iterations [P12 P13 P14 P15]", async () => {
    const log: string[] = [];
    const seen: number[] = [];
    const prompts: string[] = [];
    const tick = worker([2, 10, 1], log);
    const events: PlimsollEventInput[] = [];
    const setup = options(
      {
        tick: (one) => {
          prompts.push(one.prompt);
          return tick(one);
        },
        onIteration: ({ iteration }) => seen.push(iteration),
      },
      events,
    );
    expect(await runLoop(setup)).toMatchObject({
      end: "done",
      iterations: 3,
      boundaries: 3,
      results: [2, 10, 1],
    });
    expect(seen).toEqual([1, 2, 3]);
    expect(log).toEqual([
      "1.0 piece 1",
      "1.0 piece 2",
      "2.0 piece 1",
      "2.0 piece 2",
      "2.0 piece 3",
      "2.1 piece 4",
      "2.1 piece 5",
      "2.1 piece 6",
      "2.2 piece 7",
      "2.2 piece 8",
      "2.2 piece 9",
      "2.3 piece 10",
      "3.0 piece 1",
    ]);
    expect(prompts[2]).toContain("Goal: explore the codebase");
    expect(prompts[2]).toContain("Accomplished:\n- did up to piece 3");
    expect(prompts[2]).toContain("Key findings:\n- it works");
    expect(prompts[5]).not.toContain("Accomplished");
    expect(events.filter((event) => event.type === "subtick")).toMatchObject([
      { loop: "l1", tick: 2, sub: 1, tokens_before: 13_000, visible: false },
      { loop: "l1", tick: 2, sub: 2, tokens_before: 13_000 },
      { loop: "l1", tick: 2, sub: 3, tokens_before: 13_000 },
    ]);
    expect(events.filter((event) => event.type === "turn").map((event) => event.window)).toEqual([
      0, 0, 1, 1, 1, 2, 2, 2, 3, 3, 3, 4, 5,
    ]);
  });

  it("announces a boundary only if it is visible [P18]", async () => {
    for (const [boundary, times] of [
      ["silent", 0],
      ["visible", 3],
    ] as const) {
      const said: string[] = [];
      await runLoop(options({ tick: worker([10]), boundary, say: (text) => said.push(text) }));
      expect(said).toHaveLength(times);
    }
  });

  it.each([
    ["iterations", { maxIterations: 2 }, { iterations: 2 }],
    ["cost", { maxCostUsd: 0.02 }, { iterations: 2 }],
    ["time", { maxMs: 35 }, { iterations: 2 }],
  ] as const)("stops at its limit of %s", async (end, ceiling, expected) => {
    expect(await runLoop(options({ tick: worker([1, 1, 1, 1, 1]), ...ceiling }))).toMatchObject({
      end,
      ...expected,
    });
  });

  it("counts the cost of failed ticks once per call", async () => {
    let tries = 0;
    const result = await runLoop(
      options({
        maxFailures: 9,
        maxCostUsd: 1,
        tick: async ({ observe }) => {
          const answer = { id: `m${tries++}`, usage: { prompt_tokens: 10 } };
          observe(answer, { costUsd: 0.5 });
          observe(answer, { costUsd: 0.5 });
          throw new Error("lost");
        },
      }),
    );
    expect(result).toMatchObject({ end: "cost", costUsd: 1 });
    expect(tries).toBe(2);
  });

  it("stops when an iteration fills context after context without progress", async () => {
    const tick: LoopOptions["tick"] = async ({ observe }) => {
      observe({ usage: { prompt_tokens: 90_000 } });
      return { status: "yield", notes: { piece: 0 } };
    };
    const summary: Continuation = { accomplished: [], remaining: ["everything"], findings: [] };
    expect(await runLoop(options({ tick, summarize: async () => summary }))).toMatchObject({
      end: "no_progress",
      boundaries: 2,
    });
    expect(
      await runLoop(
        options({
          tick,
          maxSubTicks: 4,
          store: memoryLoopStore(),
          summarize: async ({ previous }) => ({
            ...summary,
            findings: [`${previous?.findings.length}`, ...(previous?.findings ?? [])],
          }),
        }),
      ),
    ).toMatchObject({ end: "no_progress", boundaries: 4 });
  });

  it("can be aborted between ticks, and ends after repeated failures", async () => {
    const abort = new AbortController();
    const result = await runLoop(
      options({ tick: worker([1, 1, 1]), signal: abort.signal, onIteration: () => abort.abort() }),
    );
    expect(result).toMatchObject({ end: "aborted", iterations: 1 });
    let tries = 0;
    const failing = await runLoop(
      options({
        maxFailures: 2,
        tick: async () => {
          tries++;
          throw new Error("no network");
        },
      }),
    );
    expect(failing).toMatchObject({ end: "failed", lastError: "no network" });
    expect(tries).toBe(3);
  });

  it("keeps tool state across sub-ticks and processes, and closes it at the end [P17]", async () => {
    const log: string[] = [];
    const alive = new Set<number>();
    let next = 1;
    const server: HandleKind<number, { pid: number }> = {
      open: () => {
        const pid = next++;
        alive.add(pid);
        log.push(`open ${pid}`);
        return { value: pid, data: { pid } };
      },
      attach: ({ pid }) => {
        log.push(`attach ${pid}`);
        return alive.has(pid) ? pid : undefined;
      },
      close: (pid) => {
        alive.delete(pid);
        log.push(`close ${pid}`);
      },
    };
    const inner = worker([6, 6]);
    let die = true;
    const setup = options({
      maxFailures: 1,
      tick: async (tick) => {
        const pid = await tick.handles.use("server", server);
        log.push(`${tick.iteration}.${tick.sub} uses ${pid}`);
        const outcome = await inner(tick);
        if (die && tick.iteration === 2) {
          die = false;
          throw new Crash();
        }
        return outcome;
      },
    });
    await expect(runLoop(crashing(setup))).rejects.toThrow(Crash);
    await runLoop(setup);
    expect(log).toEqual([
      "open 1",
      "1.0 uses 1",
      "1.1 uses 1",
      "2.0 uses 1",
      "attach 1",
      "2.0 uses 1",
      "2.1 uses 1",
      "close 1",
    ]);
  });
});

class Crash extends Error {}

/** Makes an error in a tick crash the process instead of failing the tick. */
function crashing(setup: LoopOptions): LoopOptions {
  let dead = false;
  return {
    ...setup,
    tick: async (tick) => {
      try {
        return await setup.tick(tick);
      } catch (error) {
        dead = true;
        throw error;
      }
    },
    store: {
      read: () => setup.store.read(),
      write: (state) => {
        if (dead) throw new Crash();
        return setup.store.write(state);
      },
    },
  };
}

describe("after a crash between any two steps", () => {
  it("the loop gives the same result [P16]", async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.array(fc.integer({ min: 1, max: 9 }), { minLength: 1, maxLength: 4 }),
        fc.array(fc.integer({ min: 1, max: 12 }), { maxLength: 6 }),
        async (work, crashes) => {
          const calm = await runLoop(options({ tick: worker(work) }));
          const store = memoryLoopStore();
          const ids = new Set<string>();
          let result: Awaited<ReturnType<typeof runLoop>> | undefined;
          const left = [...crashes];
          for (let process = 0; result === undefined; process++) {
            expect(process).toBeLessThan(10);
            // Each process crashes at its n-th step: before or after a write, or while summarising.
            let steps = left.shift() ?? Number.POSITIVE_INFINITY;
            const step = () => {
              if (steps-- <= 0) throw new Crash();
            };
            const setup = options({
              maxCrashes: 99,
              store: {
                read: () => store.read(),
                write: (state) => {
                  step();
                  store.write(state);
                  step();
                },
              },
              tick: worker(work),
              onEvent: (event) => {
                if (event.type === "subtick") ids.add(event.id);
              },
            });
            const { summarize } = setup;
            setup.summarize = async (request) => {
              step();
              return summarize(request);
            };
            try {
              result = await runLoop(setup);
            } catch (error) {
              if (!(error instanceof Crash)) throw error;
            }
          }
          expect({ ...result, costUsd: 0 }).toEqual({ ...calm, costUsd: 0 });
          expect(ids.size).toBe(calm.boundaries);
        },
      ),
      { numRuns: 150 },
    );
  });
});

describe("a handle", () => {
  it("is opened and stored once, even if two parts of a tick request it at the same time [P17]", async () => {
    const store = memoryLoopStore();
    let writes = 0;
    let opened = 0;
    const kind = (name: string): HandleKind<string, string> => ({
      open: async () => {
        opened++;
        return { value: name, data: name };
      },
      attach: () => undefined,
    });
    let seen: unknown;
    await runLoop(
      options({
        // The first write is the slowest; it must not overwrite later ones.
        store: {
          read: () => store.read(),
          write: async (state) => {
            const text = JSON.stringify(state);
            if (writes++ === 0) await new Promise((resolve) => setTimeout(resolve, 20));
            store.text = text;
          },
        },
        tick: async ({ handles }) => {
          writes = 0;
          await Promise.all(["repo", "repo", "server"].map((name) => handles.use(name, kind(name))));
          seen = JSON.parse(store.text!).handles;
          return { status: "done" };
        },
      }),
    );
    expect(opened).toBe(2);
    expect(seen).toEqual({ repo: "repo", server: "server" });
  });

  it("that fails to close does not undo finished work", async () => {
    const store = memoryLoopStore();
    let runs = 0;
    const events: PlimsollEventInput[] = [];
    const setup = options(
      {
        store,
        tick: async ({ handles }) => {
          runs++;
          await handles.use("repo", {
            open: () => ({ value: 1, data: 1 }),
            attach: () => 1,
            close: () => {
              expect(store.read()).toMatchObject({ step: "finished", iteration: 1 });
              throw new Error("still in use");
            },
          });
          return { status: "done", result: "all of it" };
        },
      },
      events,
    );
    const done = { end: "done", results: ["all of it"], lastError: "still in use" };
    expect(await runLoop(setup)).toMatchObject(done);
    expect(await runLoop(setup)).toMatchObject(done);
    expect(runs).toBe(1);
    expect(JSON.parse(store.text!).handles).toEqual({ repo: 1 });
    expect(events.filter((event) => event.type === "session").length).toBe(2);
  });
});
