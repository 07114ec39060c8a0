import { counted } from "@plimsoll/fold";
import { slotOf } from "../../db/tables/buckets.ts";
import { LIVE_FOR } from "../../read/liveness.ts";
import type { JudgedSubject, JudgeInput } from "../judged-subject.ts";
import { type RuleOf, type ScopeFacts, selects } from "../rule-book.ts";
import { judgeProject } from "./judge-project.ts";

interface LiveLoad extends ScopeFacts {
  load: number | null;
}

const MOST_AGENTS = 20_000;
const LOADS = `
SELECT s.harness, s.name AS session, s.kind, a.name AS agent, a.model, a.load
FROM agents a JOIN sessions s ON s.project_id = $1 AND s.id = a.session_id
WHERE a.project_id = $1 AND s.deleted_at IS NULL AND s.open_slot >= $2::int4 AND a.last_received_at > to_timestamp($3::float8 / 1000) AND a.turns > 0
LIMIT ${MOST_AGENTS}`;

/** Many live agents near their lines. */
export async function judgeFleet(
  input: JudgeInput,
  rules: readonly RuleOf<"fleet">[],
): Promise<JudgedSubject[]> {
  if (rules.length === 0) return [];
  const { sql, project, now } = input;
  const since = now - LIVE_FOR;
  const live = await sql.query<LiveLoad>(LOADS, project.id, slotOf(since), since);
  return rules.flatMap((rule) => {
    const { load_at_least, agents, share } = rule.rule.condition;
    const selected = live.filter((agent) => selects(rule, agent));
    const above = selected.filter(({ load }) => load !== null && load >= load_at_least).length;
    const holds = agents === undefined ? above > 0 && above >= share! * selected.length : above > agents;
    const percent = Math.round(load_at_least * 100);
    const why = `${above} of ${counted(selected.length, "live agent")} at ${percent}% of their line or more`;
    return judgeProject(input, rule, { holds, why, path: "/" });
  });
}
