import fc from "fast-check";
import { describe, expect, it } from "vitest";
import {
  memoryRunStore,
  type OrchestrateOptions,
  orchestrate,
  type PhaseOutcome,
  type RunStore,
} from "./index.ts";

const REQUEST: PhaseOutcome = {
  status: "split_request",
  subPhases: [
    { name: "broken", scope: "", issues: ["b"] },
    { name: "needs broken", scope: "", issues: [], after: ["broken"] },
    { name: "repaired", scope: "", issues: ["r"] },
    { name: "same files", scope: "", issues: ["s"] },
    { name: "alone", scope: "", issues: [] },
  ],
  groupings: { shared: ["r", "s"] },
  rationale: "too large",
};
const CALM = ["20 split", "broken", "broken again", "repaired", "repaired again", "same files", "alone"];

/** Each attempt that ended, such as "broken again" for one with findings. */
type Attempts = string[];

function options(store: RunStore, attempts: Attempts, over: Partial<OrchestrateOptions> = {}) {
  const pause = () => new Promise((resolve) => setTimeout(resolve, 0));
  return {
    run: "r",
    harness: "h",
    phases: [{ id: "20", name: "20" }],
    store,
    clock: () => 0,
    runPhase: async ({ id, name, findings }) => {
      await pause();
      if (id === "20") {
        attempts.push("20 split");
        return REQUEST;
      }
      attempts.push(findings === undefined ? name : `${name} again`);
      return { status: "completed", score: 5, summary: "done" };
    },
    verify: async ({ name, findings }) => {
      await pause();
      const passed = name === "repaired" ? findings !== undefined : name !== "broken";
      return { passed, summary: passed ? "passes" : `tests of ${name} fail` };
    },
    ...over,
  } satisfies OrchestrateOptions;
}

const count = (attempts: Attempts, one: string) => attempts.filter((other) => other === one).length;

describe("a sub-phase that fails", () => {
  it("gets one remediation round with the findings, and no second one [A21]", async () => {
    const store = memoryRunStore();
    const attempts: Attempts = [];
    const findings: (string | undefined)[] = [];
    const { status, state, report } = await orchestrate(
      options(store, attempts, {
        onEvent: (event) => {
          if (event.type === "phase" && event.status === "remediating") findings.push(event.phase);
        },
      }),
    );
    expect(status).toBe("failed");
    expect([...attempts].sort()).toEqual([...CALM].sort());
    expect(findings.sort()).toEqual(["20a", "20c"]);
    expect(Object.values(state.phases).map((phase) => [phase.name, phase.status])).toEqual([
      ["20", "failed"],
      ["broken", "failed"],
      ["needs broken", "blocked"],
      ["repaired", "completed"],
      ["same files", "completed"],
      ["alone", "completed"],
    ]);
    expect(report).toContain("needs 20a, which is failed");
  });

  it("gets no second round however often the process dies, and the state is the same [A15 A21]", async () => {
    class Crash extends Error {}
    const calm = memoryRunStore();
    await orchestrate(options(calm, []));
    await fc.assert(
      fc.asyncProperty(fc.array(fc.integer({ min: 0, max: 30 }), { maxLength: 8 }), async (crashes) => {
        const store = memoryRunStore();
        const all: Attempts[] = [];
        for (const writes of [...crashes, Number.POSITIVE_INFINITY]) {
          let left = writes;
          const known = (await store.read())?.phases ?? {};
          const attempts: Attempts = [];
          all.push(attempts);
          const dying: RunStore = {
            read: () => store.read(),
            apply: (edits) => {
              if (left-- <= 0) throw new Crash();
              store.apply(edits);
              if (left-- <= 0) throw new Crash();
            },
          };
          await orchestrate(options(dying, attempts)).catch((error: unknown) => {
            if (!(error instanceof Crash)) throw error;
          });
          for (const { name, status, remediation } of Object.values(known)) {
            const isOver = status !== "pending" && status !== "running";
            // What is over is not touched, and a round that began is not followed by a first attempt.
            if (isOver || remediation !== undefined) expect(count(attempts, name)).toBe(0);
            if (isOver) expect(count(attempts, `${name} again`)).toBe(0);
          }
          for (const one of CALM) expect(count(attempts, one)).toBeLessThanOrEqual(1);
          // A call after this one would begin another try.
          if ((await store.read())?.status === "failed") break;
        }
        expect(store.read()).toEqual(calm.read());
        if (crashes.length === 0) expect(all.flat().sort()).toEqual([...CALM].sort());
      }),
      { numRuns: 30 },
    );
  });

  it("stays failed when a paused run continues, and is tried again once the run has ended", async () => {
    const store = memoryRunStore();
    const attempts: Attempts = [];
    const abort = new AbortController();
    const paused = await orchestrate(
      options(store, attempts, {
        signal: abort.signal,
        onEvent: (event) => {
          if (event.type === "phase" && event.phase === "20a" && event.status === "failed") abort.abort();
        },
      }),
    );
    expect(paused.status).toBe("paused");
    expect((await orchestrate(options(store, attempts))).status).toBe("failed");
    expect(count(attempts, "broken")).toBe(1);
    expect(count(attempts, "broken again")).toBe(1);
    const fixed = await orchestrate(
      options(store, attempts, { verify: async () => ({ passed: true, summary: "passes" }) }),
    );
    expect(fixed.status).toBe("completed");
    expect(count(attempts, "broken")).toBe(2);
    expect(count(attempts, "needs broken")).toBe(1);
    expect(count(attempts, "same files")).toBe(1);
  });

  it("is not one that reports a failure because the run is aborted", async () => {
    const store = memoryRunStore();
    const abort = new AbortController();
    const { state } = await orchestrate(
      options(store, [], {
        signal: abort.signal,
        verify: async () => {
          abort.abort();
          return { passed: false, summary: "killed" };
        },
      }),
    );
    const statuses = Object.values(state.phases).map(({ status }) => status);
    expect(statuses).not.toContain("failed");
    expect(Object.values(state.phases).map(({ remediation }) => remediation)).not.toContain("killed");
  });
});

describe("a run whose store fails", () => {
  it("ends only after all its phases have stopped, with the error of the store", async () => {
    const inner = memoryRunStore();
    let running = 0;
    const broken: RunStore = {
      read: () => inner.read(),
      apply: (edits) => {
        if (edits.some(({ path, value }) => path[2] === "status" && value === "completed"))
          throw new Error("No space left on the disk.");
        inner.apply(edits);
      },
    };
    const attempts: Attempts = [];
    const ended = orchestrate(
      options(broken, attempts, {
        concurrency: 2,
        runPhase: async ({ id, name, signal }) => {
          if (id === "20") return REQUEST;
          attempts.push(name);
          running++;
          if (name === "broken") await new Promise((resolve) => signal.addEventListener("abort", resolve));
          running--;
          return { status: "completed", summary: "done" };
        },
        verify: undefined,
      }),
    );
    await expect(ended).rejects.toThrow("No space left on the disk.");
    expect(running).toBe(0);
    expect(attempts).toEqual(["broken", "repaired"]);
  });
});

it("an event that nobody can record loses no result", async () => {
  const said: string[] = [];
  const { status } = await orchestrate(
    options(memoryRunStore(), [], {
      verify: undefined,
      say: (text) => said.push(text),
      onEvent: () => {
        throw new Error("out of disk");
      },
    }),
  );
  expect(status).toBe("completed");
  expect(said).toContain("An event was not recorded: out of disk");
});
