import type { Statement } from "../../db/tables/table.ts";
import { DESCRIBE_SESSIONS, SUM_SESSIONS } from "./describe.ts";

/** An agent of which an event says that it is a sub-agent in another session than the one that it appears in. */
export interface AgentMove {
  agentId: string;
  /** Ids of sessions. */
  from: string;
  to: string;
}

/** $2 are agents, $3 their new sessions. */
const MOVE_ROWS = ["boundaries", "crossings"].map(
  (table) => `
UPDATE ${table} t SET session_id = m.session FROM unnest($2::uuid[], $3::uuid[]) AS m (agent, session)
WHERE t.project_id = $1 AND t.agent_id = m.agent`,
);

const REMOVE_EMPTY = `
DELETE FROM sessions s WHERE s.project_id = $1 AND s.id = ANY($2::uuid[])
  AND NOT EXISTS (SELECT 1 FROM agents a WHERE a.project_id = $1 AND a.session_id = s.id)`;

/** The sessions that are gone, $2, with those that took their agents, $3. */
const GONE = `unnest($2::uuid[], $3::uuid[]) AS m (gone, heir)
WHERE NOT EXISTS (SELECT 1 FROM sessions s WHERE s.project_id = $1 AND s.id = m.gone)`;
/** What people added to a session goes where its agents went. */
const MOVE_ADDITIONS = [
  `
INSERT INTO session_tags (project_id, session_id, tag, actor, actor_name)
SELECT $1::int4, g.heir, t.tag, t.actor, t.actor_name FROM (SELECT * FROM ${GONE}) g JOIN session_tags t ON t.project_id = $1 AND t.session_id = g.gone
ON CONFLICT DO NOTHING`,
  `
INSERT INTO session_notes (project_id, session_id, note, revision, updated_at, actor, actor_name)
SELECT $1::int4, g.heir, string_agg(n.note, E'\\n\\n' ORDER BY g.gone), 1, max(n.updated_at),
  (array_agg(n.actor ORDER BY n.updated_at DESC))[1], (array_agg(n.actor_name ORDER BY n.updated_at DESC))[1]
FROM (SELECT * FROM ${GONE}) g JOIN session_notes n ON n.project_id = $1 AND n.session_id = g.gone AND n.note <> ''
GROUP BY g.heir
ON CONFLICT (project_id, session_id) DO UPDATE SET revision = session_notes.revision + 1,
  note = CASE WHEN session_notes.note = '' THEN '' ELSE session_notes.note || E'\\n\\n' END || EXCLUDED.note,
  updated_at = EXCLUDED.updated_at, actor = EXCLUDED.actor, actor_name = EXCLUDED.actor_name`,
  ...["session_tags", "session_notes"].map(
    (table) => `
DELETE FROM ${table} t USING (SELECT * FROM ${GONE}) g WHERE t.project_id = $1 AND t.session_id = g.gone`,
  ),
];

/** Without events that describe it, a session has nothing of these. */
const FORGET_DESCRIPTIONS = `
UPDATE sessions s SET kind = NULL, title = NULL, meta_at = NULL, started_at = NULL, ended_at = NULL, end_reason = NULL
WHERE s.project_id = $1 AND s.id = ANY($2::uuid[])`;

/** What moves with agents whose rows have their new session, and what becomes of the sessions that they left. */
export function moveStatements(projectId: number, moves: readonly AgentMove[]): Statement[] {
  if (moves.length === 0) return [];
  const heirs = new Map(moves.map(({ from, to }) => [from, to]));
  const left = [...heirs.keys()];
  const statement = (text: string, ...values: unknown[]) => ({ text, values: [projectId, ...values] });
  return [
    ...MOVE_ROWS.map((text) =>
      statement(
        text,
        moves.map(({ agentId }) => agentId),
        moves.map(({ to }) => to),
      ),
    ),
    statement(REMOVE_EMPTY, left),
    ...MOVE_ADDITIONS.map((text) => statement(text, left, [...heirs.values()])),
    statement(FORGET_DESCRIPTIONS, left),
    statement(SUM_SESSIONS, left),
    statement(DESCRIBE_SESSIONS, left),
  ];
}
