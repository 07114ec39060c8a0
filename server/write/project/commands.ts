import { modelNames } from "@plimsoll/fold";
import type { WriterSql } from "../../db/sql.ts";
import { OTHER } from "../../db/tables/rollup-names.ts";
import type { Command } from "../journal/journal-entry.ts";
import type { ProjectMemory } from "../memory/memory.ts";

const SET_WINDOW = `
INSERT INTO model_windows (project_id, model, tokens, updated_at) VALUES ($1, $2, $3, to_timestamp($4::float8 / 1000))
ON CONFLICT (project_id, model) DO UPDATE SET tokens = EXCLUDED.tokens, updated_at = EXCLUDED.updated_at`;

const REMOVE_WINDOW = "DELETE FROM model_windows WHERE project_id = $1 AND model = $2";

/**
 * Every agent of the harnesses that have used one of the models. Rollups know that without a look at the turns. On a day with
 * too many names, any agent may have used it. An agent that could not be folded gets another attempt.
 */
const REFOLD_USERS = `
INSERT INTO refolds (project_id, agent_id, reason, asked_at)
SELECT $1::int4, a.id, 'window_size', to_timestamp($3::float8 / 1000) FROM agents a
JOIN sessions s ON s.project_id = $1 AND s.id = a.session_id
WHERE a.project_id = $1 AND a.turns > 0 AND (
  s.harness IN (
    SELECT r.harness FROM rollups r WHERE r.project_id = $1 AND r.grain = 360 AND r.model = ANY($2::text[]))
  OR EXISTS (
    SELECT 1 FROM rollup_names n WHERE n.project_id = $1 AND n.harness = '${OTHER}' AND n.model = '${OTHER}'
      AND n.day <= a.last_at AND n.day > a.first_at - interval '1 day'))
ON CONFLICT (project_id, agent_id) DO UPDATE SET reason = EXCLUDED.reason, done_to = NULL
  WHERE refolds.reason = 'failed' OR refolds.done_to IS NOT NULL`;

/** Runs a command in the projector's transaction. `now` in epoch ms. */
export async function runCommand(
  sql: WriterSql,
  memory: ProjectMemory,
  command: Command,
  now: number,
): Promise<void> {
  const { projectId } = memory;
  const { model, tokens } = command;
  if (tokens === null) sql.send(REMOVE_WINDOW, projectId, model);
  else sql.send(SET_WINDOW, projectId, model, tokens, now);
  memory.setWindow(model, tokens);
  const users = [...memory.modelsKnown]
    .map(([name]) => name)
    .filter((name) => modelNames(name).includes(model));
  if (users.length > 0) sql.send(REFOLD_USERS, projectId, users, now);
}
