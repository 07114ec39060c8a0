import { type AlertCondition, type AlertSighting, durationMs } from "@plimsoll/protocol/alerts";
import { slotOf } from "../../db/tables/buckets.ts";
import { LIVE_FOR } from "../../read/liveness.ts";
import { counted, durationText } from "../describe-alert.ts";
import type { LookInput } from "../evaluation/evaluation.ts";
import { alertKey, type JudgedSubject } from "../evaluation/plan-evaluation.ts";
import { type LoadedRule, type ScopeFacts, selects } from "../rule-book.ts";
import { hourlyCount, nextSamples } from "./rejected-events.ts";

type Of<Type extends AlertCondition["type"]> = Extract<AlertCondition, { type: Type }>;

interface Seen {
  holds: boolean;
  why: string;
  path: string;
}

interface LiveLoad extends ScopeFacts {
  load: number | null;
}

const ms = (column: string) => `(extract(epoch FROM ${column}) * 1000)::float8`;
const MOST_AGENTS = 20_000;
const LOADS = `
SELECT s.harness, s.name AS session, s.kind, a.name AS agent, a.model, a.load
FROM agents a JOIN sessions s ON s.project_id = $1 AND s.id = a.session_id
WHERE a.project_id = $1 AND s.deleted_at IS NULL AND s.open_slot >= $2::int4 AND a.last_received_at > to_timestamp($3::float8 / 1000) AND a.turns > 0
LIMIT ${MOST_AGENTS}`;
// Straight from the journal: a projector that stands still cannot hide its own backlog.
const OLDEST_WAITING = `SELECT ${ms("min(received_at)")} AS at FROM journal WHERE project_id = $1`;
const REJECTED = `
SELECT COALESCE(sum(count), 0)::float8 AS count FROM ingest_counts
WHERE project_id = $1 AND outcome <> ALL('{turn,turn_merged,turn_repeated,mark,duplicate}'::text[])`;

/** What the rules about the whole project see. */
export async function judgeProject(input: LookInput): Promise<JudgedSubject[]> {
  const rules = input.book.of("project");
  const of = (type: AlertCondition["type"]) => rules.filter(({ rule }) => rule.condition.type === type);
  return [
    ...(await judgeFleet(input, of("fleet"))),
    ...(await judgeRejected(input, of("rejected_events"))),
    ...(await judgeBacklog(input, of("backlog"))),
  ];
}

async function judgeFleet(input: LookInput, rules: readonly LoadedRule[]): Promise<JudgedSubject[]> {
  if (rules.length === 0) return [];
  const { sql, project, now } = input;
  const since = now - LIVE_FOR;
  const live = await sql.query<LiveLoad>(LOADS, project.id, slotOf(since), since);
  return rules.flatMap((rule) => {
    const { load_at_least, agents, share } = rule.rule.condition as Of<"fleet">;
    const selected = live.filter((agent) => selects(rule, agent));
    const above = selected.filter(({ load }) => load !== null && load >= load_at_least).length;
    const holds = agents === undefined ? above > 0 && above >= share! * selected.length : above > agents;
    const percent = Math.round(load_at_least * 100);
    const why = `${above} of ${counted(selected.length, "live agent")} at ${percent}% of their line or more`;
    return judged(input, rule, { holds, why, path: "/" });
  });
}

async function judgeRejected(input: LookInput, rules: readonly LoadedRule[]): Promise<JudgedSubject[]> {
  const { sql, project, watch, now } = input;
  if (rules.length === 0) {
    watch.samples = [];
    return [];
  }
  const [row] = await sql.query<{ count: number }>(REJECTED, project.id);
  watch.samples = nextSamples(watch.samples, row?.count ?? 0, now);
  const count = hourlyCount(watch.samples, row?.count ?? 0, now);
  return rules.flatMap((rule) => {
    const { per_hour } = rule.rule.condition as Of<"rejected_events">;
    const why = `${counted(count, "event")} rejected within an hour`;
    return judged(input, rule, { holds: count > per_hour, why, path: "/setup" });
  });
}

async function judgeBacklog(input: LookInput, rules: readonly LoadedRule[]): Promise<JudgedSubject[]> {
  if (rules.length === 0) return [];
  const { sql, project, now } = input;
  const [oldest] = await sql.query<{ at: number | null }>(OLDEST_WAITING, project.id);
  const waited = oldest?.at == null ? 0 : now - oldest.at;
  return rules.flatMap((rule) => {
    const { older_than } = rule.rule.condition as Of<"backlog">;
    const why = `Accepted events have waited for ${durationText(waited)} to be processed`;
    return judged(input, rule, { holds: waited >= durationMs(older_than), why, path: "/setup" });
  });
}

function judged({ open, now }: LookInput, rule: LoadedRule, { holds, why, path }: Seen): JudgedSubject[] {
  const subject = "project";
  if (!holds && !open.byKey.has(alertKey(rule.id, subject))) return [];
  const sighting: AlertSighting = holds ? { verdict: "met", at: now } : { verdict: "clear", reason: "below" };
  const tell = () => ({ why, level: null, boundaries: [], path });
  return [{ rule, subject, sighting, facts: undefined, place: {}, tell }];
}
