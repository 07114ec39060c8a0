import type { AlertConditionType, AlertSighting } from "@plimsoll/protocol/alerts";
import { type AgentCondition, findInAgent, isNews, leastTurnsAfterBoundary } from "../agent-conditions.ts";
import type { OpenAlert } from "../alert-rows.ts";
import { boundariesOf, levelOf, whyOf } from "../describe-alert.ts";
import { type LoadedRule, type RuleBook, selects } from "../rule-book.ts";
import { holdingRules } from "./condition-chains.ts";
import type { JudgedSubject } from "./plan-evaluation.ts";
import { isSilent, type SeenAgent } from "./read-agents.ts";

/** Conditions on what happens over time: a new window does not end them. */
const ACROSS_WINDOWS: readonly AlertConditionType[] = [
  "unexplained_fall",
  "small_reclaim",
  "thrash",
  "boundaries_per_hour",
  "restart_limit",
  "truncation_suspected",
];

/** Whether a rule looks at the boundaries of agents. */
export const readsBoundaries = ({ rule }: LoadedRule): boolean =>
  ACROSS_WINDOWS.includes(rule.condition.type);

/** Boundaries of an agent that the rules look back on. */
export function boundariesNeeded(rules: readonly LoadedRule[]): number {
  return rules.reduce((most, { rule: { condition } }) => {
    if (condition.type === "thrash") return Math.max(most, condition.boundaries);
    return condition.type === "boundaries_per_hour" ? Math.max(most, MOST_BOUNDARIES) : most;
  }, LEAST_BOUNDARIES);
}

/** Boundaries between which the rules count turns. */
export function boundariesCounted(rules: readonly LoadedRule[]): number {
  return rules.reduce((most, { rule: { condition } }) => {
    return condition.type === "thrash" ? Math.max(most, condition.boundaries) : most;
  }, 0);
}

/** As many as a message lists, and those that a burst of others may hide. */
const LEAST_BOUNDARIES = 8;
/** A rule about boundaries an hour counts others as well. */
const MOST_BOUNDARIES = 80;

/**
 * Whether the turns of an agent must be counted. More turns never make a rule hold, so only a new boundary or an open alert asks
 * for it, and only while the agent has had few turns since the boundary.
 * @param counted the newest boundary at which the turns were counted, by agent
 */
export function needsTurnTimes(
  rules: readonly LoadedRule[],
  { id, sight }: SeenAgent,
  alerted: { has(agentId: string): boolean },
  counted: { get(agentId: string): string | undefined },
): boolean {
  const newest = sight.boundaries[0];
  if (newest === undefined || (counted.get(id) === newest.id && !alerted.has(id))) return false;
  const atLeast = leastTurnsAfterBoundary(sight);
  return rules.some(({ rule: { condition } }) => {
    if (condition.type !== "thrash" || sight.boundaries.length < condition.boundaries) return false;
    return atLeast <= condition.within_turns;
  });
}

/** What the rules about agents see of one of them. */
export interface AgentsJudge {
  book: RuleBook;
  /** Open alerts by the id of their agent. */
  open: ReadonlyMap<string, readonly OpenAlert[]>;
  /** The database's time in epoch ms. */
  now: number;
}

/** Judges the open alerts of an agent, and every rule whose condition holds for it. */
export function* judgeAgent({ book, open, now }: AgentsJudge, agent: SeenAgent): Generator<JudgedSubject> {
  const facts = scopeOf(agent);
  const known = new Set<LoadedRule>();
  for (const { ruleId, subject } of open.get(agent.id) ?? []) {
    const rule = book.byId.get(ruleId);
    if (rule?.kind !== "agent" || subject !== subjectOf(rule, agent) || !selects(rule, facts)) continue;
    known.add(rule);
    yield judged(rule, agent, sightingOf(rule, agent, now));
  }
  if (agent.ended || isSilent(agent, now)) return;
  for (const { rule, finding } of holdingRules(book.chainsFor(facts), agent.sight, now))
    if (!known.has(rule) && isNews(finding)) yield judged(rule, agent, { verdict: "met", at: finding.at });
}

/** How an open alert ends whose agent was looked at and not judged for it; undefined if it goes on. */
export function endOf(
  alert: OpenAlert,
  book: RuleBook,
  agent: SeenAgent,
  now: number,
): "window_ended" | "rule_changed" | "session_ended" | undefined {
  if (agent.ended) return "session_ended";
  if (isSilent(agent, now)) return undefined;
  const rule = book.byId.get(alert.ruleId);
  if (rule === undefined) return undefined;
  if (!selects(rule, scopeOf(agent))) return "rule_changed";
  return alert.subject === subjectOf(rule, agent) ? undefined : "window_ended";
}

const scopeOf = ({ harness, session, name, model, kind }: SeenAgent) => ({
  harness,
  session,
  agent: name,
  model,
  kind,
});

const subjectOf = (rule: LoadedRule, { id, sight }: SeenAgent): string =>
  readsBoundaries(rule) ? `agent/${id}` : `agent/${id}/${sight.window}`;

/** What the rule of an open alert sees. */
function sightingOf({ rule }: LoadedRule, agent: SeenAgent, now: number): AlertSighting {
  if (agent.ended) return SESSION_ENDED;
  if (isSilent(agent, now)) return SILENT;
  const { holds, at } = findInAgent(rule.condition as AgentCondition, agent.sight, true, now);
  return holds ? { verdict: "met", at } : BELOW;
}

const SESSION_ENDED: AlertSighting = { verdict: "over", reason: "session_ended" };
const SILENT: AlertSighting = { verdict: "silent" };
const BELOW: AlertSighting = { verdict: "clear", reason: "below" };

function judged(rule: LoadedRule, agent: SeenAgent, sighting: AlertSighting): JudgedSubject {
  const { id, name, harness, session, sessionId, model, turnKey } = agent;
  return {
    rule,
    subject: subjectOf(rule, agent),
    sighting,
    facts: scopeOf(agent),
    place: { harness, session, sessionId, agent: name, agentId: id, model },
    // Boundaries may be added to the sight after it was judged.
    tell: () => ({
      why: whyOf(rule.rule.condition as AgentCondition, agent.sight),
      level: levelOf(agent.sight),
      boundaries: boundariesOf(agent.sight),
      path: `/sessions/${sessionId}?agent=${id}${turnKey === undefined ? "" : `&turn=${turnKey}`}`,
    }),
  };
}
