import { describe, expect, it } from "vitest";
import { splitNotice, subPhaseId, tooLarge } from "./split.ts";

it.each([
  [{ issues: 4, files: 4 }, "issues_and_files"],
  [{ issues: 4, files: 3 }, undefined],
  [{ issues: 3, files: 9 }, undefined],
  [{ complexTasks: 6 }, "complex_tasks"],
  [{ reads: 11 }, "reads"],
  [{ reads: 10, complexTasks: 5 }, undefined],
] as const)("too large: %j [A4 A17]", (scope, reason) => {
  expect(tooLarge(scope)).toBe(reason);
});

describe("the notice of a split", () => {
  const request = (after: readonly (readonly string[])[], groupings = {}) => ({
    subPhases: after.map((names, at) => ({ name: `n${at}`, scope: "s", issues: [`i${at}`], after: names })),
    groupings,
    rationale: "too much",
  });

  it.each<[string, Parameters<typeof splitNotice>[1], number | undefined, string]>([
    ["that wait for none", request([[], [], []]), undefined, "3 sub-phases, launching in parallel..."],
    [
      "that all wait",
      request([[], ["n0"], ["n1"]]),
      undefined,
      "3 sub-phases, launching the first, the others follow...",
    ],
    [
      "of which one waits",
      request([[], [], ["n0"]]),
      undefined,
      "3 sub-phases, launching 2 in parallel, the others follow...",
    ],
    [
      "of one group",
      request([[], []], { files: ["i0", "i1"] }),
      undefined,
      "2 sub-phases, launching the first, the others follow...",
    ],
    [
      "that run one at a time",
      request([[], []]),
      1,
      "2 sub-phases, launching the first, the others follow...",
    ],
    ["of which there is one", request([[]]), undefined, "1 sub-phase, launching it..."],
  ])("says of sub-phases %s what runs in parallel [A13]", (_, split, concurrency, says) => {
    expect(splitNotice("20", split, concurrency)).toBe(
      `Phase 20 too large (${split.subPhases.length} issue${split.subPhases.length === 1 ? "" : "s"}). Splitting into ${says}`,
    );
  });
});

it("gives sub-phases unique ids", () => {
  expect([0, 25, 26, 51, 52, 701, 702].map((at) => subPhaseId("20", at))).toEqual([
    "20a",
    "20z",
    "20aa",
    "20az",
    "20ba",
    "20zz",
    "20aaa",
  ]);
  expect(subPhaseId("20a", 0)).toBe("20a.1");
  expect(subPhaseId("20a.1", 1)).toBe("20a.1.2");
});
