import { mkdtemp, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import fc from "fast-check";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { fileRunStore } from "../node/index.ts";
import {
  memoryRunStore,
  type OrchestrateOptions,
  orchestrate,
  type PhaseContext,
  type PhaseOutcome,
  type RunStore,
  type SplitRequest,
} from "./index.ts";
import { routeProblem, routesOf } from "./route.ts";

type Part = SplitRequest["subPhases"][number];
const part = (name: string, issues: string[] = [name], after?: string[]): Part => ({
  name,
  scope: name,
  issues,
  ...(after && { after }),
});
const split = (subPhases: Part[], groupings: SplitRequest["groupings"] = {}): PhaseOutcome => ({
  status: "split_request",
  subPhases,
  groupings,
  rationale: "too large",
});

/** Runs one phase that is split, and notes when each part begins and ends. */
async function run(request: PhaseOutcome, over: Partial<OrchestrateOptions> = {}) {
  const log: string[] = [];
  const store = memoryRunStore();
  const result = await orchestrate({
    run: "r",
    harness: "h",
    phases: [{ id: "20", name: "Fixes" }],
    store,
    clock: () => 0,
    runPhase: async (phase) => {
      if (phase.id === "20") return request;
      log.push(`+${phase.name}`);
      await new Promise((resolve) => setTimeout(resolve, 3));
      log.push(`-${phase.name}`);
      return { status: "completed", score: 9, summary: `${phase.name} done` };
    },
    ...over,
  });
  const statusOf = (name: string) =>
    Object.values(result.state.phases).find((phase) => phase.name === name)?.status;
  return { ...result, log, store, statusOf };
}

describe("the parts of a split", () => {
  it("of one group run one after the other, and all others in parallel [A19]", async () => {
    const parts = [part("a"), part("b"), part("c"), part("d", ["a", "d"])];
    const { log, status } = await run(split(parts, { login: ["a", "c", "d"], lists: ["b"] }));
    expect(status).toBe("completed");
    expect(log.slice(0, 2)).toEqual(["+a", "+b"]);
    const own = log.filter((one) => !one.endsWith("b"));
    expect(own).toEqual(["+a", "-a", "+c", "-c", "+d", "-d"]);
  });

  it("all run at once if there are fourteen [A8]", async () => {
    const { log } = await run(split(Array.from({ length: 14 }, (_, at) => part(`p${at}`))));
    expect(log.slice(0, 14).every((one) => one.startsWith("+"))).toBe(true);
  });

  it("of one group go on after one of them failed", async () => {
    const { statusOf } = await run(split([part("a"), part("b")], { same: ["a", "b"] }), {
      verify: async ({ name }) => ({ passed: name !== "a" }),
    });
    expect([statusOf("a"), statusOf("b")]).toEqual(["failed", "completed"]);
  });

  it("come after those that they name, whatever the order of the request", async () => {
    const { log } = await run(split([part("b", ["b"], ["a"]), part("a"), part("c", ["c"], ["b"])]));
    expect(log).toEqual(["+a", "-a", "+b", "-b", "+c", "-c"]);
  });

  it("are blocked by one that failed, and the report says by which [A20]", async () => {
    const parts = [part("a"), part("b", ["b"], ["a"]), part("c", ["c"], ["b"]), part("d")];
    const { statusOf, status, report, state, log } = await run(split(parts), {
      verify: async ({ name }) => ({ passed: name !== "a", summary: "tests fail" }),
    });
    expect(["a", "b", "c", "d"].map(statusOf)).toEqual(["failed", "blocked", "blocked", "completed"]);
    expect(status).toBe("failed");
    expect(report).toContain("| 20b b | blocked | - | 0s | - | - | needs 20a, which is failed |");
    expect(state.phases["20c"]!.summary).toBe("needs 20b, which is blocked");
    expect(log.filter((one) => one.startsWith("+b") || one.startsWith("+c"))).toEqual([]);
  });

  it("run in a later call, once what blocked them is completed", async () => {
    let broken = true;
    const request = split([part("a"), part("b", ["b"], ["a"])]);
    const verify = async ({ name }: PhaseContext) => ({ passed: name !== "a" || !broken });
    const { store, statusOf } = await run(request, { verify });
    expect([statusOf("a"), statusOf("b")]).toEqual(["failed", "blocked"]);
    broken = false;
    const again = await run(request, { verify, store });
    expect(again.status).toBe("completed");
    expect(again.log).toEqual(["+a", "-a", "+b", "-b"]);
  });

  it("that cannot be ordered fail the phase with the reason", async () => {
    const circle = await run(split([part("a", ["a"], ["b"]), part("b", ["b"], ["a"])]));
    expect(circle.state.phases["20"]).toMatchObject({
      status: "failed",
      summary: 'sub-phase "a" would have to wait for itself',
    });
    const unknown = await run(split([part("a", ["a"], ["z"])]));
    expect(unknown.state.phases["20"]!.summary).toBe(
      'sub-phase "a" must come after "z", which does not exist',
    );
  });

  it("always have an order: no part waits for itself through any other", () => {
    const arbitrary = fc.record({
      subPhases: fc
        .array(
          fc.record({
            issues: fc.array(fc.nat({ max: 5 })),
            after: fc.array(fc.nat({ max: 7 }), { maxLength: 3 }),
          }),
          { minLength: 1, maxLength: 8 },
        )
        .map((list) =>
          list.map(({ issues, after }, at) =>
            part(
              `p${at}`,
              issues.map(String),
              after.filter((one) => one < list.length).map((one) => `p${one}`),
            ),
          ),
        ),
      groupings: fc.dictionary(fc.string(), fc.array(fc.nat({ max: 5 }).map(String))),
      rationale: fc.constant("r"),
    });
    fc.assert(
      fc.property(arbitrary, (request) => {
        if (routeProblem(request) !== undefined) return;
        const routes = routesOf(request);
        const done = new Set<number>();
        for (let round = 0; round < routes.length; round++)
          for (const [place, { waitsFor }] of routes.entries())
            if (waitsFor.every((one) => done.has(one))) done.add(place);
        expect(done.size).toBe(routes.length);
      }),
    );
  });
});

describe("a part that fails", () => {
  it("gets one other attempt with the findings, and no third one [A21]", async () => {
    const findings: (string | undefined)[] = [];
    const attempts = (passes: number) =>
      run(split([part("a")]), {
        runPhase: async (phase) => {
          if (phase.id === "20") return split([part("a")]);
          findings.push(phase.findings);
          return { status: "completed", score: findings.length, summary: "done" };
        },
        verify: async () => ({ passed: findings.length >= passes, summary: `test ${findings.length} fails` }),
      });
    expect((await attempts(2)).state.phases["20a"]).toMatchObject({ status: "completed", score: 2 });
    expect(findings).toEqual([undefined, "test 1 fails"]);
    findings.length = 0;
    expect((await attempts(3)).state.phases["20a"]).toMatchObject({ status: "failed", score: 2 });
    expect(findings).toEqual([undefined, "test 1 fails"]);
  });
});

describe("the state file", () => {
  let folder = "";
  beforeEach(async () => {
    folder = await mkdtemp(join(tmpdir(), "runtime-state-"));
  });
  afterEach(() => rm(folder, { recursive: true }));

  it("of any size is changed in fewer than 20 lines an edit [A12]", async () => {
    const path = join(folder, "state.json");
    const inner = fileRunStore(path);
    const written: number[] = [];
    const text = () => readFile(path, "utf8").catch(() => "");
    const counting: RunStore = {
      read: () => inner.read(),
      // One edit at a time, so that each is counted alone.
      async apply(edits) {
        for (const edit of edits) {
          const before = new Set((await text()).split("\n"));
          await inner.apply([edit]);
          if (before.size > 1)
            written.push((await text()).split("\n").filter((line) => !before.has(line)).length);
        }
      },
    };
    const issues = Array.from({ length: 60 }, (_, at) => `issue ${at}`);
    const parts = Array.from({ length: 14 }, (_, at) => part(`part ${at}`, issues));
    await orchestrate({
      run: "r",
      harness: "h",
      phases: Array.from({ length: 200 }, (_, at) => ({ id: `${at}`, name: `Phase ${at}` })),
      store: counting,
      runPhase: async ({ id }) =>
        id === "20" ? split(parts) : { status: "completed", score: 9, summary: "line\n".repeat(300) },
    });
    expect((await text()).split("\n").length).toBeGreaterThan(2_000);
    expect(written.length).toBeGreaterThan(1_000);
    expect(Math.max(...written)).toBeLessThan(20);
  });
});
