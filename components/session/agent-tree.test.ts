import fc from "fast-check";
import { expect, test } from "vitest";
import { agentTree, defaultAgent, keptApart } from "./agent-tree.ts";

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

test("sub-agents keep their highest levels out of those above them", () => {
  const agent = (name: string, parent: string | null, tokens: number | null) => ({
    id: name,
    name,
    parent,
    peak: tokens === null ? null : { tokens },
  });
  const agents = [
    agent("main", null, 90_000),
    agent("researcher", "main", 36_000),
    agent("reader", "researcher", 5_000),
    agent("silent", "main", null),
    agent("other", null, 7_000),
  ];
  expect(keptApart(agents, "main")).toEqual({ agents: 3, tokens: 41_000 });
  expect(keptApart(agents, "researcher")).toEqual({ agents: 1, tokens: 5_000 });
  expect(keptApart(agents, "other")).toEqual({ agents: 0, tokens: 0 });
  expect(keptApart(agents, "gone")).toEqual({ agents: 0, tokens: 0 });
});

test("no sub-agent counts for two agents side by side, whatever the tree", () => {
  const parents = fc.array(fc.option(fc.nat(9), { nil: null }), { minLength: 1, maxLength: 10 });
  fc.assert(
    fc.property(parents, (all) => {
      const agents = all.map((parent, index) => ({
        id: `a${index}`,
        name: `a${index}`,
        parent: parent === null ? null : `a${parent}`,
        peak: { tokens: 1 },
      }));
      const roots = agentTree(agents).filter(({ depth }) => depth === 0);
      const below = roots.reduce((sum, { agent }) => sum + keptApart(agents, agent.id).tokens, 0);
      expect(below + roots.length).toBe(agents.length);
    }),
  );
});
