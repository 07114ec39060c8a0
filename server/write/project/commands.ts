import { isNamedBy } from "@plimsoll/fold";
import type { WriterSql } from "../../db/sql.ts";
import type { Command } from "../journal/journal-entry.ts";
import type { ProjectMemory } from "../memory/memory.ts";
import { refoldUsers } from "./rejudge.ts";

const SET_WINDOW = `
INSERT INTO model_windows (project_id, model, tokens, updated_at) VALUES ($1, $2, $3, to_timestamp($4::float8 / 1000))
ON CONFLICT (project_id, model) DO UPDATE SET tokens = EXCLUDED.tokens, updated_at = EXCLUDED.updated_at`;

const REMOVE_WINDOW = "DELETE FROM model_windows WHERE project_id = $1 AND model = $2";

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
  const models = [...memory.modelsKnown].map(([name]) => name).filter((name) => isNamedBy(name, model));
  if (models.length === 0) return;
  const { text, values } = refoldUsers(memory, { family: undefined, models, now });
  sql.send(text, ...values);
}
