import { slotOf } from "../../db/tables/buckets.ts";
import { stopReasonCode } from "../../db/tables/codes.ts";
import { LIVE_FOR } from "../../read/liveness.ts";
import { iso } from "../../times.ts";
import { timeText } from "../formats/text.ts";
import { alertKey, type JudgedSubject, type JudgeInput } from "../judged-subject.ts";
import { type RuleOf, selects } from "../rule-book.ts";
import { longerThan, silenceSighting } from "./silence.ts";

interface SilentHarness {
  instance: string;
  lastAt: number;
  lastReceivedAt: number;
  ended: boolean;
}

const time = (parameter: string) => `to_timestamp(${parameter}::float8 / 1000)`;
const ms = (column: string) => `(extract(epoch FROM ${column}) * 1000)::float8`;
const TOOL_USE = stopReasonCode("tool_use");
/** Instances of one evaluation. */
const MOST_INSTANCES = 5_000;

// A harness without an open session has nothing to report. A conversation may wait for its person, unless its harness said that it
// reports meanwhile, or one of its agents called a tool that needs nobody.
const SILENT_HARNESSES = `
SELECT h.instance, ${ms("h.last_at")} AS "lastAt", ${ms("h.last_received_at")} AS "lastReceivedAt", h.status = 'bye' AS ended
FROM harnesses h WHERE h.project_id = $1 AND h.deleted_at IS NULL AND (h.instance = ANY($5::text[])
  OR h.last_received_at > ${time("$2")} AND h.last_received_at <= ${time("$3")} AND EXISTS (
    SELECT 1 FROM sessions s WHERE s.project_id = $1 AND s.harness = h.instance AND s.open_slot >= $4::int4
      AND ('heartbeat' = ANY(h.capabilities) OR s.kind IN ('loop', 'phase', 'agent') OR EXISTS (
        SELECT 1 FROM agents a WHERE a.project_id = $1 AND a.session_id = s.id AND a.stop_reason = ${TOOL_USE}))))
LIMIT ${MOST_INSTANCES}`;

/** Harness instances that stopped reporting while a loop, a phase, an agent or a tool was at work. */
export async function judgeHarnessSilence(
  input: JudgeInput,
  rules: readonly RuleOf<"harness_silence">[],
): Promise<JudgedSubject[]> {
  const { sql, project, open, now } = input;
  if (rules.length === 0) return [];
  const waits = rules.map(longerThan);
  const from = now - Math.max(...waits) - LIVE_FOR;
  const ids = new Set(rules.map(({ id }) => id));
  const openInstances = [...open.byKey.values()]
    .filter(({ ruleId }) => ids.has(ruleId))
    .map(({ place }) => place.harness!);
  const rows = await sql.query<SilentHarness>(
    SILENT_HARNESSES,
    project.id,
    from,
    now - Math.min(...waits),
    slotOf(from - LIVE_FOR),
    openInstances,
  );
  return rows.flatMap((row) => rules.flatMap((rule) => judgeHarness(input, rule, row) ?? []));
}

function judgeHarness(
  { open, watch, now }: JudgeInput,
  rule: RuleOf<"harness_silence">,
  row: SilentHarness,
): JudgedSubject | undefined {
  const { instance, lastReceivedAt } = row;
  const facts = { harness: instance };
  const subject = `harness/${instance}`;
  const known = open.byKey.get(alertKey(rule.id, subject));
  if (known === undefined && !selects(rule, facts)) return undefined;
  const sighting = silenceSighting(row, longerThan(rule), known, watch.watchingSince, now);
  if (known === undefined && sighting.verdict !== "met") return undefined;
  return {
    rule,
    subject,
    sighting,
    facts,
    place: facts,
    report: () => ({
      why: `Nothing received since ${timeText(iso(lastReceivedAt))}, and work is under way`,
      level: null,
      boundaries: [],
      path: `/?harness=${encodeURIComponent(instance)}`,
    }),
  };
}
