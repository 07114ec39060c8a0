import { v7 as uuid } from "uuid";
import type { WriterSql } from "../sql.ts";
import { arrayLiteral } from "./binary-arrays.ts";

// A row of its own for each commit: the projector never waits for the evaluator, which deletes rows.
const LEAVE = "INSERT INTO alert_signals (project_id, id, sessions) VALUES ($1, $2::uuid, $3::uuid[])";

/** Says to the evaluator of the alert rules, in the same transaction, that sessions changed. */
export function leaveSignal(sql: WriterSql, projectId: number, sessions: readonly string[]): void {
  if (sessions.length > 0) sql.send(LEAVE, projectId, uuid(), arrayLiteral(sessions));
}
