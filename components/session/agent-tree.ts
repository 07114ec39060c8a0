export interface TreeNode<T> {
  agent: T;
  depth: number;
}

/** Agents below their parents, depth first. An agent with an unknown parent, or in a cycle, is a root. */
export function agentTree<T extends { id: string; name: string; parent: string | null }>(
  agents: readonly T[],
): TreeNode<T>[] {
  const byName = new Map(agents.map((agent) => [agent.name, agent]));
  const nodes: TreeNode<T>[] = [];
  const placed = new Set<string>();
  function place(agent: T, depth: number): void {
    if (placed.has(agent.id)) return;
    placed.add(agent.id);
    nodes.push({ agent, depth });
    for (const child of agents)
      if (child.parent === agent.name && child.id !== agent.id) place(child, depth + 1);
  }
  for (const agent of agents) if (agent.parent === null || !byName.has(agent.parent)) place(agent, 0);
  for (const agent of agents) place(agent, 0);
  return nodes;
}

/**
 * The agent selected by default: the main agent, or the first agent with a turn if the main agent has none.
 * An orchestrator that only delegates never takes a turn.
 */
export function defaultAgent<T extends { id: string; name: string; parent: string | null; turns: number }>(
  agents: readonly T[],
  mainId: string | null,
): T | undefined {
  const main = agents.find(({ id }) => id === mainId) ?? agents[0];
  if (main === undefined || main.turns > 0) return main;
  return agentTree(agents).find(({ agent }) => agent.turns > 0)?.agent ?? main;
}
