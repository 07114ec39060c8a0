import type { Sql } from "../../db/sql.ts";
import { type AgentRow, agents } from "../../db/tables/agents.ts";
import { agentId, sessionId } from "../../db/tables/identity.ts";
import type { Check } from "./check.ts";
import { type RecomputeSettings, readRecomputeSettings, recomputeAgent } from "./recompute.ts";
import { walkIds } from "./walk.ts";

const COUNT = "SELECT count(*)::float8 AS count FROM agents WHERE project_id = $1";
const PAGE = `
SELECT ${agents.select("t")}, s.harness, s.name AS session_name, r.agent_id IS NOT NULL AS queued
FROM agents t LEFT JOIN sessions s ON s.project_id = $1 AND s.id = t.session_id
LEFT JOIN refolds r ON r.project_id = $1 AND r.agent_id = t.id AND r.reason <> 'failed'
WHERE t.project_id = $1 AND t.id > $2::uuid AND t.id <= $3::uuid ORDER BY t.id LIMIT $4`;
const CONSIDERED = "SELECT r.policy_revision AS revision FROM projectors r WHERE r.project_id = $1";

interface AgentContext {
  harness: string | null;
  session_name: string | null;
  /** Whether the agent is to be folded again. */
  queued: boolean;
}

/** Folds agents again from their events and compares every derived column. */
export const agentsCheck: Check = {
  name: "agents match their events",
  units: { plural: "agents", done: "computed again" },
  weight: 6,
  size: 8,
  maxSize: 200,
  step({ connection, deadline, projectId }, position, size) {
    return connection.atOneMoment(deadline, async (sql) => {
      const total = position === undefined ? await sql.query<{ count: number }>(COUNT, projectId) : undefined;
      const settings = await readRecomputeSettings(sql, projectId);
      const { rows, next } = await walkIds(position, size, (after, through, limit) =>
        sql.query<AgentRow & AgentContext>(PAGE, projectId, after, through, limit),
      );
      const [projector] = await sql.query<{ revision: number }>(CONSIDERED, projectId);
      // The projector queues these agents once it considers the change.
      const judgedFrom = settings.policy.changedSince(projector?.revision ?? 0);
      const faults: string[] = [];
      let waiting = 0;
      for (const { harness, session_name, queued, ...raw } of rows) {
        const agent = agents.parse(raw);
        const waits = queued || (judgedFrom !== undefined && agent.lastAt >= judgedFrom);
        if (waits) waiting += 1;
        const differences = await differencesOf(sql, agent, { harness, session_name, waits }, settings);
        if (differences.length > 0) {
          faults.push(`agent ${agent.name} of ${session_name} (${differences.join(", ")})`);
        }
      }
      return {
        examined: rows.length - waiting,
        waiting,
        faults,
        next,
        ...(total && { of: total[0]!.count }),
      };
    });
  },
};

async function differencesOf(
  sql: Pick<Sql, "query">,
  agent: AgentRow,
  { harness, session_name: session, waits }: Omit<AgentContext, "queued"> & { waits: boolean },
  settings: RecomputeSettings,
): Promise<string[]> {
  if (harness === null || session === null) return ["agents.session_id"];
  const differences: string[] = [];
  const { projectId } = settings;
  if (sessionId(projectId, harness, session) !== agent.sessionId) differences.push("agents.session_id");
  // The id of a sub-agent with a session of its own follows from that session, whose name is not kept.
  const isNamed = agent.ownSession === undefined;
  if (isNamed && agentId(projectId, harness, session, agent.name) !== agent.id)
    differences.push("agents.name");
  if (waits) return differences;
  try {
    return [...differences, ...(await recomputeAgent(sql, agent, harness, settings))];
  } catch (error) {
    if (isOfDatabase(error)) throw error;
    return [...differences, `cannot be computed: ${(error as Error).message}`];
  }
}

/** What the fold throws over rows that it cannot read. */
const UNREADABLE = [SyntaxError, TypeError, RangeError];

function isOfDatabase(error: unknown): boolean {
  return !UNREADABLE.some((kind) => error instanceof kind);
}
