import fc from "fast-check";
import { describe, expect, it } from "vitest";
import {
  memoryRunStore,
  type OrchestrateOptions,
  orchestrate,
  type PhaseContext,
  type PhaseOutcome,
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

  it("are grouped by their names as well", async () => {
    const { log } = await run(split([part("a", []), part("b", []), part("c", [])], { files: ["a", "b"] }));
    expect(log.slice(0, 2)).toEqual(["+a", "+c"]);
    expect(log.indexOf("+b")).toBeGreaterThan(log.indexOf("-a"));
  });

  it.each([
    [
      "issues",
      { subPhases: [{ name: "a" }], groupings: {} },
      "a sub-phase needs a name and a list of issues",
    ],
    [
      "names",
      { subPhases: [{ issues: [] }], groupings: {} },
      "a sub-phase needs a name and a list of issues",
    ],
    ["groupings", { subPhases: [part("a")] }, "groupings must have a list of issues for each group"],
    [
      "lists",
      { subPhases: [part("a")], groupings: { all: "a" } },
      "groupings must have a list of issues for each group",
    ],
  ])("without %s fail the phase, not the run", async (_, request, summary) => {
    const { state } = await run({ status: "split_request", rationale: "", ...request } as never);
    expect(state.phases["20"]).toMatchObject({ status: "failed", summary });
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
