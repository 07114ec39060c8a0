import type { RejudgingView } from "@plimsoll/protocol/api";
import type { Reader } from "../lines/reader.ts";

/**
 * Agents whose recorded turns are still to be judged again. Those of a step that the projector has not considered yet count as well,
 * and those that wait for another reason: they are judged by the policy then.
 */
export async function readRejudging({
  prisma,
  projectId,
}: Pick<Reader, "prisma" | "projectId">): Promise<RejudgingView> {
  const [left] = await prisma.$queryRaw<{ agents: number }[]>`
    WITH news AS (
      SELECT min(st.at) AS since FROM policy_steps st
      WHERE st.project_id = ${projectId} AND st.revision >
        COALESCE((SELECT p.policy_revision FROM projectors p WHERE p.project_id = ${projectId}), 0)
    )
    SELECT count(*)::int4 AS agents FROM (
      SELECT r.agent_id FROM refolds r WHERE r.project_id = ${projectId} AND r.reason <> 'failed'
      UNION
      SELECT a.id FROM news, sessions s
      JOIN agents a ON a.project_id = ${projectId} AND a.session_id = s.id
      WHERE s.project_id = ${projectId} AND s.last_at >= news.since AND a.last_at >= news.since
    ) waiting`;
  return { agents_left: left!.agents };
}
