import { isNews, LONGEST_LIFE_MS, SHORTEST_LIFE_MS } from "@plimsoll/fold";
import type { AlertConditionOf, AlertSighting } from "@plimsoll/protocol/alerts";
import { exact } from "@plimsoll/protocol/pure";
import { slotOf } from "../../db/tables/buckets.ts";
import { LIVE_FOR } from "../../read/liveness.ts";
import { DAY_MS } from "../../times.ts";
import { levelOf } from "../describe-alert.ts";
import { agentPlace, agentScope } from "../evaluation/judge-agents.ts";
import { readSessionAgents, type SeenAgent } from "../evaluation/read-agents.ts";
import { alertKey, type JudgedSubject, type JudgeInput } from "../judged-subject.ts";
import { type RuleOf, selects } from "../rule-book.ts";

type CacheColdCondition = AlertConditionOf<"cache_cold">;

const MINUTE_MS = 60_000;
/** Sessions of one evaluation. */
const MOST_SESSIONS = 1_000;

const time = (parameter: string) => `to_timestamp(${parameter}::float8 / 1000)`;
const RESTING_SESSIONS = `
SELECT DISTINCT a.session_id AS id FROM agents a JOIN sessions s ON s.project_id = $1 AND s.id = a.session_id
WHERE a.project_id = $1 AND s.deleted_at IS NULL AND s.open_slot >= $2::int4 AND a.has_state AND a.current_tokens >= $3::int4
  AND a.last_received_at > ${time("$4")} AND a.last_received_at <= ${time("$5")}
LIMIT ${MOST_SESSIONS}`;

/** Agents with a high level whose prompt the provider has no longer in its cache, or only for some minutes. */
export async function judgeCacheCold(
  input: JudgeInput,
  rules: readonly RuleOf<"cache_cold">[],
): Promise<JudgedSubject[]> {
  if (rules.length === 0) return [];
  const { sql, project, policy, open, now } = input;
  const ids = new Set(rules.map(({ id }) => id));
  const alerted = [...open.byKey.values()].filter(({ ruleId }) => ids.has(ruleId));
  const least = Math.min(...rules.map(({ rule: { condition } }) => condition.at_least));
  const beforeMs = Math.max(...rules.map(({ rule: { condition } }) => condition.minutes_before)) * MINUTE_MS;
  const since = now - LONGEST_LIFE_MS - LIVE_FOR;
  const until = now - SHORTEST_LIFE_MS + beforeMs;
  const resting = await sql.query<{ id: string }>(
    RESTING_SESSIONS,
    project.id,
    slotOf(since),
    least,
    since,
    until,
  );
  const sessions = new Set([...resting.map(({ id }) => id), ...alerted.map(({ place }) => place.sessionId!)]);
  const agents = await readSessionAgents({ sql, projectId: project.id, policy, now }, [...sessions]);
  return agents.flatMap((agent) => rules.flatMap((rule) => judgeAgentCache(input, rule, agent) ?? []));
}

function judgeAgentCache(
  { open, now }: JudgeInput,
  rule: RuleOf<"cache_cold">,
  agent: SeenAgent,
): JudgedSubject | undefined {
  const facts = agentScope(agent);
  const subject = `agent/${agent.id}`;
  const known = open.byKey.get(alertKey(rule.id, subject));
  if (known === undefined && !selects(rule, facts)) return undefined;
  const sighting = cacheSighting(rule.rule.condition, agent, known !== undefined, now);
  if (known === undefined && sighting.verdict !== "met") return undefined;
  return {
    rule,
    subject,
    sighting,
    facts,
    place: agentPlace(agent),
    report: () => ({
      why: whyText(agent, now),
      level: levelOf(agent.sight),
      boundaries: [],
      path: `/sessions/${agent.sessionId}?agent=${agent.id}`,
    }),
  };
}

/**
 * Whether a cache is cold, or soon.
 * @param held whether an alert is open
 * @param now epoch ms
 */
export function cacheSighting(
  { at_least, minutes_before }: CacheColdCondition,
  { ended, lastReceivedAt, sight, cache }: Pick<SeenAgent, "ended" | "lastReceivedAt" | "sight" | "cache">,
  held: boolean,
  now: number,
): AlertSighting {
  if (ended) return { verdict: "over", reason: "session_ended" };
  if (lastReceivedAt <= now - LIVE_FOR - DAY_MS) return { verdict: "over", reason: "gone" };
  if (cache === undefined || (sight.contextTokens ?? 0) < at_least)
    return { verdict: "clear", reason: "below" };
  const due = cache.coldAt - minutes_before * MINUTE_MS;
  if (now < due) return { verdict: "clear", reason: "data_returned" };
  // A cache that was cold long before the rule existed is no news.
  const starts = now < due + LIVE_FOR && isNews(sight);
  return held || starts ? { verdict: "met", at: due } : { verdict: "clear", reason: "below" };
}

function whyText({ cache, sight }: SeenAgent, now: number): string {
  const tokens = `${exact(sight.contextTokens ?? 0)} context tokens`;
  const minutes = Math.ceil((cache!.coldAt - now) / MINUTE_MS);
  return minutes > 0
    ? `The cache is cold in ${minutes} min, with ${tokens}`
    : `The cache is cold, with ${tokens}`;
}
