import { expect, test } from "vitest";
import { agentTree, defaultAgent } from "./agent-tree.ts";

test("agents stand under their parents; a circle is broken, an orphan stands at the top", () => {
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
  ["the main agent", [worker("main", null, 3), worker("20a", "main", 9)], "main"],
  [
    "the first that works, while the main agent only hands out work",
    [worker("20", "main", 0), worker("main", null, 0), worker("20b", "20", 2), worker("20a", "20", 9)],
    "20b",
  ],
  ["the main agent, while none has taken a turn", [worker("20", "main", 0), worker("main", null, 0)], "main"],
  ["the first of all, where none is the main one", [worker("a", null, 1), worker("b", null, 1)], "a"],
])("what is shown first is %s", (_, agents, shown) => {
  expect(defaultAgent(agents, "main")?.name).toBe(shown);
});

test("of no agent none is shown first", () => {
  expect(defaultAgent([], null)).toBeUndefined();
});
