import { expect, test } from "vitest";
import { agentTree, defaultAgent } from "./agent-tree.ts";

test("agents are below their parents, cycles are broken, and orphans are roots", () => {
  const agent = (name: string, parent: string | null) => ({ id: name, name, parent });
  const nodes = agentTree([
    agent("writer", "researcher"),
    agent("main", null),
    agent("researcher", "main"),
    agent("orphan", "gone"),
    agent("a", "b"),
    agent("b", "a"),
  ]);
  expect(nodes.map(({ agent: { name }, depth }) => `${depth} ${name}`)).toEqual([
    "0 main",
    "1 researcher",
    "2 writer",
    "0 orphan",
    "0 a",
    "1 b",
  ]);
});

const worker = (name: string, parent: string | null, turns: number) => ({ id: name, name, parent, turns });

test.each([
  ["the main agent if it has turns", [worker("main", null, 3), worker("20a", "main", 9)], "main"],
  [
    "the first agent with a turn if the main agent only delegates",
    [worker("20", "main", 0), worker("main", null, 0), worker("20b", "20", 2), worker("20a", "20", 9)],
    "20b",
  ],
  ["the main agent if no agent has a turn", [worker("20", "main", 0), worker("main", null, 0)], "main"],
  ["the first agent if none is the main agent", [worker("a", null, 1), worker("b", null, 1)], "a"],
])("the default agent is %s", (_, agents, shown) => {
  expect(defaultAgent(agents, "main")?.name).toBe(shown);
});

test("a session without agents has no default agent", () => {
  expect(defaultAgent([], null)).toBeUndefined();
});
