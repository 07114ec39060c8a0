import { expect, test } from "vitest";
import { linkProblem, linkProblemText } from "./link-problem.ts";

const agents = [{ id: "a" }, { id: "b" }];
const link = { agent: "b", agents, more: 0, linked: { state: "none" } } as const;

test("a link without an agent or a turn, and one that is found, have no problem", () => {
  expect(linkProblem(link)).toBeUndefined();
  expect(linkProblem({ ...link, agent: null })).toBeUndefined();
  expect(linkProblem({ ...link, linked: { state: "loading" } })).toBeUndefined();
  expect(linkProblem({ ...link, linked: { state: "failed" } })).toBeUndefined();
});

test("an unknown agent is named before an unknown turn", () => {
  expect(linkProblem({ ...link, agent: "c", linked: { state: "unknown" } })).toBe("unknown_agent");
  expect(linkProblem({ ...link, agent: "", more: 1 })).toBe("unlisted_agent");
  expect(linkProblem({ ...link, linked: { state: "unknown" } })).toBe("unknown_turn");
});

test("each problem says what the page shows", () => {
  for (const problem of ["unknown_agent", "unlisted_agent", "unknown_turn"] as const)
    expect(linkProblemText(problem, "main", 500)).toContain("main");
});
