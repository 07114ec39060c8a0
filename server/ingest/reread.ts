import type { Batch } from "./batch.ts";
import type { WriterOptions } from "./batch-writer.ts";
import { OutcomeCounts } from "./outcomes.ts";
import { writeBatch } from "./write.ts";

/**
 * Folds agents' histories again, because a setting that their levels depend on changed. Returns the sessions touched.
 */
export async function rereadAgents(
  options: WriterOptions,
  projectId: number,
  ids: readonly string[],
): Promise<string[]> {
  const { prisma } = options;
  const agents = await prisma.agent.findMany({ where: { projectId, id: { in: [...ids] } } });
  const sessions = await prisma.session.findMany({
    where: { projectId, id: { in: agents.map((agent) => agent.sessionId) } },
  });
  const owners = new Map(sessions.map((session) => [session.id, session]));
  // Received at no time: nothing was heard, so nobody becomes live by it.
  const batch: Batch = {
    receivedAt: 0,
    events: 0,
    agents: new Map(),
    sessions: new Map(),
    harnesses: new Map(),
  };
  for (const session of sessions) {
    const { id, harness, name } = session;
    const [firstAt, lastAt] = [session.firstAt.getTime(), session.lastAt.getTime()];
    batch.sessions.set(id, { projectId, id, harness, name, firstAt, lastAt, described: false });
  }
  for (const agent of agents) {
    const harness = owners.get(agent.sessionId)?.harness;
    if (harness === undefined) continue;
    batch.agents.set(agent.id, {
      projectId,
      id: agent.id,
      sessionId: agent.sessionId,
      harness,
      name: agent.name,
      parent: agent.parent ?? undefined,
      turns: new Map(),
      marks: new Map(),
      firstAt: agent.firstAt.getTime(),
      lastAt: agent.lastAt.getTime(),
      reread: true,
    });
  }
  await writeBatch(options, batch, new OutcomeCounts());
  return [...batch.sessions.keys()];
}
