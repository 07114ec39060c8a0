import { expect, it } from "vitest";
import { subPhaseId, tooLarge } from "./split.ts";

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
