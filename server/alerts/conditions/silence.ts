import { isNews } from "@plimsoll/fold";
import { type AlertSighting, durationMs } from "@plimsoll/protocol/alerts";
import { arrayLiteral } from "../../db/tables/binary-arrays.ts";
import { slotOf } from "../../db/tables/buckets.ts";
import { LIVE_FOR } from "../../read/liveness.ts";
import { DAY_MS, iso } from "../../times.ts";
import type { OpenAlert } from "../alert-rows.ts";
import { timeText } from "../formats/text.ts";
import { alertKey, type JudgedSubject, type JudgeInput } from "../judged-subject.ts";
import { type RuleOf, selects } from "../rule-book.ts";

interface SilentSession {
  id: string;
  session: string;
  harness: string;
  model: string | null;
  kind: string | null;
  lastAt: number;
  lastReceivedAt: number;
  ended: boolean;
}

const time = (parameter: string) => `to_timestamp(${parameter}::float8 / 1000)`;
const ms = (column: string) => `(extract(epoch FROM ${column}) * 1000)::float8`;
/** Sessions of one evaluation. */
const MOST_SESSIONS = 5_000;

const SILENT_SESSIONS = `
SELECT s.id, s.name AS session, s.harness, s.model, s.kind, ${ms("s.last_at")} AS "lastAt",
  ${ms("s.last_received_at")} AS "lastReceivedAt", (s.ended_at IS NOT NULL AND s.last_at <= s.ended_at) AS ended
FROM sessions s WHERE s.project_id = $1 AND s.deleted_at IS NULL AND (s.id = ANY($4::uuid[])
  OR s.open_slot >= $2::int4 AND s.last_received_at <= ${time("$3")})
LIMIT ${MOST_SESSIONS}`;

/** Sessions from which nothing is received. */
export async function judgeSilence(
  input: JudgeInput,
  rules: readonly RuleOf<"silence">[],
): Promise<JudgedSubject[]> {
  const { sql, project, open, now } = input;
  if (rules.length === 0) return [];
  const waits = rules.map(longerThan);
  const openIds = [...open.byKey.values()]
    .filter(({ subject }) => subject.startsWith("session/"))
    .map(({ place }) => place.sessionId!);
  const rows = await sql.query<SilentSession>(
    SILENT_SESSIONS,
    project.id,
    slotOf(now - Math.max(...waits) - LIVE_FOR),
    now - Math.min(...waits),
    arrayLiteral(openIds),
  );
  return rows.flatMap((row) => rules.flatMap((rule) => judgeSession(input, rule, row) ?? []));
}

function judgeSession(
  { open, watch, now }: JudgeInput,
  rule: RuleOf<"silence">,
  row: SilentSession,
): JudgedSubject | undefined {
  const { id, session, harness, lastReceivedAt } = row;
  const facts = { harness, session, model: row.model ?? undefined, kind: row.kind ?? undefined };
  const subject = `session/${id}`;
  const known = open.byKey.get(alertKey(rule.id, subject));
  if (known === undefined && !selects(rule, facts)) return undefined;
  const sighting = silenceSighting(row, longerThan(rule), known, watch.watchingSince, now);
  if (known === undefined && sighting.verdict !== "met") return undefined;
  return {
    rule,
    subject,
    sighting,
    facts,
    place: { harness, session, sessionId: id, model: facts.model },
    report: () => ({
      why: `Nothing received since ${timeText(iso(lastReceivedAt))}, and the session has not ended`,
      level: null,
      boundaries: [],
      path: `/sessions/${id}`,
    }),
  };
}

/**
 * Whether something is silent. `ended`: whether it said so.
 * @param longerMs silence that is too long
 * @param watchingSince silence before says nothing: no server may have listened. Epoch ms.
 */
export function silenceSighting(
  { ended, lastAt, lastReceivedAt }: Pick<SilentSession, "ended" | "lastAt" | "lastReceivedAt">,
  longerMs: number,
  known: OpenAlert | undefined,
  watchingSince: number,
  now: number,
): AlertSighting {
  if (ended) return { verdict: "over", reason: "session_ended" };
  const silentMs = now - lastReceivedAt;
  if (silentMs >= longerMs + DAY_MS) return { verdict: "over", reason: "gone" };
  if (silentMs < longerMs) return { verdict: "clear", reason: "data_returned" };
  if (known !== undefined) return { verdict: "met", at: lastAt };
  const heardMs = now - Math.max(lastReceivedAt, watchingSince);
  const isFresh = heardMs >= longerMs && silentMs < longerMs + LIVE_FOR;
  return isFresh && isNews({ at: lastAt, receivedAt: lastReceivedAt })
    ? { verdict: "met", at: lastAt }
    : { verdict: "clear", reason: "data_returned" };
}

/** Milliseconds of silence that a rule allows. */
export const longerThan = ({ rule: { condition } }: RuleOf<"silence" | "harness_silence">): number =>
  durationMs(condition.longer_than);
