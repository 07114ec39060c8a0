import { type PlimsollEventInput, parseEvent } from "@plimsoll/protocol/events";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import {
  Manager,
  memoryRunStore,
  type OrchestrateOptions,
  orchestrate,
  type PhaseContext,
  type PhaseOutcome,
  ReadRefused,
} from "./index.ts";

const ISSUES = ["login fails", "no logout", "slow list", "bad date", "lost draft", "wrong total"];

function splitInto(issues: readonly string[]): PhaseOutcome {
  return {
    status: "split_request",
    subPhases: issues.map((issue) => ({ name: `fix ${issue}`, scope: issue, issues: [issue] })),
    groupings: Object.fromEntries(issues.map((issue) => [issue, [issue]])),
    rationale: `${issues.length} issues over ${issues.length} files`,
  };
}

function setup(over: Partial<OrchestrateOptions> = {}) {
  const events: PlimsollEventInput[] = [];
  const said: string[] = [];
  const log: string[] = [];
  let now = Date.UTC(2026, 10, 20);
  const options: OrchestrateOptions = {
    run: "run-1",
    harness: "autopilot",
    phases: [
      { id: "19", name: "Search" },
      { id: "20", name: "Fixes" },
    ],
    runPhase: async (phase) => {
      log.push(phase.id);
      phase.observe({ id: `t-${phase.id}`, usage: { prompt_tokens: 84_000 } });
      if (phase.id === "20" && phase.tooLarge({ issues: 6, files: 6 }) !== undefined)
        return splitInto(ISSUES);
      return { status: "completed", score: 9, summary: `${phase.name} done` };
    },
    runnerWindow: 200_000,
    store: memoryRunStore(),
    say: (text) => said.push(text),
    onEvent: (event) => {
      expect(parseEvent(event), JSON.stringify(event)).toMatchObject({ ok: true });
      events.push(event);
    },
    clock: () => (now += 1_000),
    ...over,
  };
  return { options, events, said, log, of: (type: string) => events.filter((event) => event.type === type) };
}

describe("orchestrate", () => {
  it("refuses an unknown or a missing option by its name, before the first phase", async () => {
    const { options, log } = setup();
    await expect(orchestrate({ ...options, phase: [] } as never)).rejects.toThrow("phase: is no option.");
    await expect(orchestrate({ ...options, phases: undefined } as never)).rejects.toThrow(
      "phases: is missing.",
    );
    expect(log).toEqual([]);
  });

  it("splits a phase that its runner finds too large, without confirmation, and reports the parts inline [A5 A13 A14 A16]", async () => {
    const { options, said, log, of } = setup();
    const { status, report, state } = await orchestrate(options);
    expect(status).toBe("completed");
    expect(said).toContain(
      "Phase 20 too large (6 issues). Splitting into 6 sub-phases, launching in parallel...",
    );
    expect(log).toEqual(["19", "20", "20a", "20b", "20c", "20d", "20e", "20f"]);
    expect(report.split("\n")[0]).toBe("| Phase | Status | Alignment | Duration | Context | Split | Notes |");
    expect(report).toContain("| Phase 20 (split: 20a, 20b, 20c, 20d, 20e, 20f) | completed | 9 |");
    expect(report).toContain("| 20a fix login fails | completed | 9 |");
    expect(state.phases["20c"]).toMatchObject({ contextPct: 42, parent: "20", issues: ["slow list"] });
    expect(of("split_requested")).toMatchObject([{ phase: "20", agent: "20" }]);
    expect(of("split_resolved")).toMatchObject([{ phase: "20", status: "completed" }]);
    expect(of("turn").map((event) => event.agent)).toEqual(log);
    const parts = of("phase").filter((event) => event.agent === "20b");
    expect(parts).toMatchObject([
      { status: "running", parent_phase: "20", parent_agent: "20" },
      { status: "completed", parent_phase: "20" },
    ]);
  });

  it("runs sub-phases in parallel [A6]", async () => {
    let running = 0;
    let most = 0;
    const { options } = setup();
    const inner = options.runPhase;
    options.runPhase = async (phase) => {
      most = Math.max(most, ++running);
      await new Promise((resolve) => setTimeout(resolve, 5));
      running--;
      return inner(phase);
    };
    await orchestrate(options);
    expect(most).toBe(6);
    most = 0;
    await orchestrate({ ...options, store: memoryRunStore(), concurrency: 2 });
    expect(most).toBe(2);
  });

  it("verifies each sub-phase separately [A3 A7]", async () => {
    const verified: string[] = [];
    const { options } = setup({
      verify: async (phase) => {
        verified.push(phase.id);
        return { passed: phase.id !== "20c", score: phase.id === "20c" ? 4 : 10 };
      },
    });
    const { status, state } = await orchestrate(options);
    expect(verified.sort()).toEqual(["19", "20a", "20b", "20c", "20c", "20d", "20e", "20f"]);
    expect(status).toBe("failed");
    expect(state.phases["20"]).toMatchObject({
      status: "failed",
      score: 9,
      summary: "5 of 6 sub-phases completed",
    });
  });

  it("gives a sub-phase the next letter if a phase of its own has that id", async () => {
    const { options, log } = setup({
      phases: [
        { id: "20", name: "Fixes" },
        { id: "20a", name: "A phase of its own" },
        { id: "20c", name: "Another" },
      ],
    });
    const { state } = await orchestrate(options);
    expect(state.phases["20"]!.split).toEqual(["20b", "20d", "20e", "20f", "20g", "20h"]);
    expect(log).toEqual(["20", "20b", "20d", "20e", "20f", "20g", "20h", "20a", "20c"]);
    expect(state.phases["20a"]).toMatchObject({ name: "A phase of its own", status: "completed" });
  });

  it("splits a sub-phase again, up to maxDepth [A18]", async () => {
    const seen: PhaseContext[] = [];
    const { options } = setup({
      phases: [{ id: "7", name: "All" }],
      maxDepth: 2,
      runPhase: async (phase) => {
        seen.push(phase);
        return phase.maySplit ? splitInto(["a", "b"]) : { status: "completed", score: 8, summary: "ok" };
      },
    });
    const { status } = await orchestrate(options);
    expect(status).toBe("completed");
    expect(seen.map((phase) => phase.id).sort()).toEqual(["7", "7a", "7a.1", "7a.2", "7b", "7b.1", "7b.2"]);
    const greedy = await orchestrate({
      ...options,
      store: memoryRunStore(),
      runPhase: async () => splitInto(["a"]),
    });
    expect(greedy.status).toBe("failed");
  });

  it("counts a runner that throws as a failed phase, and continues", async () => {
    const { options } = setup({
      runPhase: async ({ id }) => {
        if (id === "19") throw new Error("out of memory");
        return { status: "completed", summary: "ok" };
      },
    });
    const { status, state } = await orchestrate(options);
    expect(status).toBe("failed");
    expect(state.phases["19"]).toMatchObject({ status: "failed", summary: "out of memory" });
    expect(state.phases["20"]!.status).toBe("completed");
  });

  it("warns once at 70 % and once at 90 % of its own context, and never stops [A11]", async () => {
    const handoffs: string[] = [];
    const { options, said } = setup({
      phases: Array.from({ length: 30 }, (_, at) => ({ id: String(at + 1), name: "P" })),
      runPhase: async () => ({ status: "completed", summary: "ab ".repeat(2_000) }),
      manager: new Manager({ promptTokens: 1_500 }),
      window: { tokens: 3_000 },
      writeHandoff: (text) => void handoffs.push(text),
    });
    const { status, state } = await orchestrate(options);
    expect(status).toBe("completed");
    expect(state.orchestratorPct).toBeGreaterThan(90);
    expect(said.filter((text) => text.startsWith("Context at ~70%"))).toHaveLength(1);
    expect(said.filter((text) => text.startsWith("Context at ~90%"))).toHaveLength(1);
    expect(handoffs[0]).toContain("Remaining: ");
  });

  it("pauses with a handoff, and resumes from there [A15]", async () => {
    const abort = new AbortController();
    const handoffs: string[] = [];
    const { options, log } = setup({
      signal: abort.signal,
      writeHandoff: (text) => void handoffs.push(text),
    });
    const inner = options.runPhase;
    options.runPhase = async (phase) => {
      abort.abort();
      return inner(phase);
    };
    expect(await orchestrate(options)).toMatchObject({ status: "paused" });
    expect(handoffs).toEqual([expect.stringContaining("Completed: 19\nRemaining: 20 (pending)")]);
    const { signal: _, ...again } = options;
    expect(await orchestrate({ ...again, runPhase: inner })).toMatchObject({ status: "completed" });
    expect(log.filter((id) => id === "19")).toHaveLength(1);
  });

  it("starts no phase after an abort, and does not count an aborted phase as failed [A15]", async () => {
    const abort = new AbortController();
    const { options, log, of } = setup({ signal: abort.signal, concurrency: 2 });
    const inner = options.runPhase;
    options.runPhase = async (phase) => {
      const outcome = await inner(phase);
      if (phase.id === "20a") return outcome;
      if (phase.id !== "20b") return outcome;
      abort.abort();
      throw new Error("aborted");
    };
    const paused = await orchestrate(options);
    expect(paused.status).toBe("paused");
    expect(log.slice(0, 4)).toEqual(["19", "20", "20a", "20b"]);
    expect(log.length).toBeLessThan(6);
    expect(paused.state.phases["20b"]!.status).toBe("running");
    expect(paused.state.phases["20f"]!.status).toBe("pending");
    expect(Object.values(paused.state.phases).map(({ status }) => status)).not.toContain("failed");
    expect(of("split_resolved")).toEqual([]);
    const { signal: _, ...again } = options;
    let resumed = false;
    const done = await orchestrate({
      ...again,
      runPhase: (phase) => {
        if (phase.id === "20b") resumed = phase.resumed;
        return inner(phase);
      },
    });
    expect(done).toMatchObject({ status: "completed" });
    expect(resumed).toBe(true);
    expect(log.filter((id) => id === "20a")).toHaveLength(1);
  });

  it("reaches the same state after any number of crashes [A15]", async () => {
    class Crash extends Error {}
    await fc.assert(
      fc.asyncProperty(fc.array(fc.integer({ min: 0, max: 50 }), { maxLength: 8 }), async (crashes) => {
        const store = memoryRunStore();
        const finished: string[] = [];
        const told = new Set<string>();
        const requested = new Set<string>();
        const resolved = new Set<string>();
        const left = [...crashes];
        for (let process = 0; ; process++) {
          expect(process).toBeLessThan(12);
          let steps = left.shift() ?? Number.POSITIVE_INFINITY;
          const { options } = setup({
            clock: () => 1_800_000_000_000,
            onEvent: (event) => {
              if (event.type === "phase" && event.status === "completed") told.add(event.phase);
              if (event.type === "split_requested") requested.add(event.id);
              if (event.type === "split_resolved") resolved.add(event.id);
            },
            store: {
              read: () => store.read(),
              apply: (edits) => {
                if (steps-- <= 0) throw new Crash();
                store.apply(edits);
                for (const { path, value } of edits) {
                  if (path[2] === "status" && value === "completed") finished.push(path[1]!);
                }
                if (steps-- <= 0) throw new Crash();
              },
            },
          });
          try {
            expect(await orchestrate(options)).toMatchObject({ status: "completed" });
            break;
          } catch (error) {
            if (!(error instanceof Crash)) throw error;
          }
        }
        expect([...finished].sort()).toEqual(["19", "20", "20a", "20b", "20c", "20d", "20e", "20f"]);
        expect([...told].sort()).toEqual([...finished].sort());
        expect([requested.size, resolved.size]).toEqual([1, 1]);
        const calm = setup({ clock: () => 1_800_000_000_000 });
        expect(store.read()).toEqual((await orchestrate(calm.options)).state);
      }),
      { numRuns: 60 },
    );
  });
});

describe("the manager", () => {
  const read = (path: string) => `phase 16 in ${path}: 5 issues`;
  const manager = new Manager({ read });

  it.each([
    ...["phases/16/16-UAT.md", "16-PLAN.md", "src/app.ts", ".autopilot/state.json", "main.rs", "run.log"],
    ...["uat/16.md", "plans/phase16.md", "App.vue", "Main.kt", "report.json", "notes.txt", "README.md", ""],
    ...[
      "status.md.bak",
      "status.ts",
      "my-status.md",
      "status",
      "status.md/plan.md",
      "../status.md",
      "routing.md\n",
    ],
  ])("does not read %j [A1]", async (path) => {
    await expect(manager.read(path)).rejects.toThrow(ReadRefused);
  });

  it.each(["routing.md", ".autopilot/status.json", "phases/16/scores.csv", "phase-names.yaml", "STATUS.MD"])(
    "reads %s",
    async (path) => {
      expect(await manager.read(path)).not.toBe("");
    },
  );

  it("refuses large files and reads small ones", async () => {
    await expect(new Manager({ read: () => "word ".repeat(5_000) }).read("scores.txt")).rejects.toThrow(
      "has about",
    );
    expect(await manager.read("routing.md")).toBe("phase 16 in routing.md: 5 issues");
    expect(manager.tokens).toBeGreaterThan(0);
  });

  it("refuses every read without a read function", async () => {
    await expect(new Manager().read("routing.md")).rejects.toMatchObject({ reason: "no_reader" });
  });

  it("counts what the orchestrator's own tools read [A1]", async () => {
    const pct = async (reads: number) => {
      const own = new Manager({ read: () => "phase 16: 5 issues ".repeat(100), promptTokens: 500 });
      const { options } = setup({ manager: own, window: { tokens: 10_000 } });
      for (let at = 0; at < reads; at++) await own.read("routing.md");
      return (await orchestrate(options)).state.orchestratorPct!;
    };
    expect(await pct(0)).toBeLessThan(10);
    expect(await pct(5)).toBeGreaterThan(25);
  });

  it("keeps one line of a runner's summary [A2]", () => {
    expect(manager.note(`a\n\n${"b".repeat(9_000)}`).length).toBe(400);
  });
});

describe("gaps of autopilot, closed", () => {
  it("the tables have columns for context and split [A10]", async () => {
    const { options, said } = setup();
    await orchestrate(options);
    const progress = said.filter((text) => text.startsWith("| # |"));
    expect(progress[0]).toContain("| # | Phase | Status | Score | Context | Split |");
    expect(progress.at(-1)).toContain(
      "| 2 | 20 Fixes | completed | 9 | 42% | 20a, 20b, 20c, 20d, 20e, 20f |",
    );
  });

  it("the context percentage is measured, not guessed by the model", async () => {
    const { options } = setup({
      manager: new Manager({ promptTokens: 35_000 }),
      window: { tokens: 200_000 },
    });
    const { state } = await orchestrate(options);
    expect(state.orchestratorPct).toBe(18);
  });

  it("the tokens of sub-agents are compared with their own window", async () => {
    const { options } = setup({
      manager: new Manager({ promptTokens: 10_000 }),
      window: { tokens: 100_000 },
      runPhase: async (phase) => {
        phase.observe({ usage: { prompt_tokens: 190_000 } });
        return { status: "completed", summary: "ok" };
      },
    });
    const { state } = await orchestrate(options);
    expect(state.orchestratorPct).toBe(10);
    expect(state.phases["19"]!.contextPct).toBe(95);
  });
});
