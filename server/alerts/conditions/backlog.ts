import { durationMs } from "@plimsoll/protocol/alerts";
import { durationText } from "../describe-alert.ts";
import type { JudgedSubject, JudgeInput } from "../judged-subject.ts";
import type { RuleOf } from "../rule-book.ts";
import { judgeProject } from "./judge-project.ts";

// Straight from the journal: a projector that has stopped cannot hide its own backlog.
const OLDEST_WAITING =
  "SELECT (extract(epoch FROM min(received_at)) * 1000)::float8 AS at FROM journal WHERE project_id = $1";

/** Accepted events that wait for the projection. */
export async function judgeBacklog(
  input: JudgeInput,
  rules: readonly RuleOf<"backlog">[],
): Promise<JudgedSubject[]> {
  if (rules.length === 0) return [];
  const { sql, project, now } = input;
  const [oldest] = await sql.query<{ at: number | null }>(OLDEST_WAITING, project.id);
  const waited = oldest?.at == null ? 0 : now - oldest.at;
  const why = `Accepted events have waited for ${durationText(waited)} to be processed`;
  return rules.flatMap((rule) => {
    const holds = waited >= durationMs(rule.rule.condition.older_than);
    return judgeProject(input, rule, { holds, why, path: "/setup" });
  });
}
