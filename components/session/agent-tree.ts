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

/** The listed agents below one, and the highest levels of them all, added up, in tokens. */
export function keptApart<
  T extends { id: string; name: string; parent: string | null; peak: { tokens: number } | null },
>(agents: readonly T[], of: string): { agents: number; tokens: number } {
  const nodes = agentTree(agents);
  const start = nodes.findIndex(({ agent }) => agent.id === of);
  const depth = nodes[start]?.depth ?? 0;
  const apart = { agents: 0, tokens: 0 };
  for (
    let next = start + 1;
    start >= 0 && nodes[next] !== undefined && nodes[next]!.depth > depth;
    next += 1
  ) {
    apart.agents += 1;
    apart.tokens += nodes[next]!.agent.peak?.tokens ?? 0;
  }
  return apart;
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
