import {
  type AgentCondition,
  type AlertConditionType,
  type AlertSighting,
  findInAgent,
  isNews,
} from "@plimsoll/protocol";
import type { OpenAlert } from "./alert-rows.ts";
import { boundariesOf, levelOf, whyOf } from "./describe-alert.ts";
import { alertKey, type JudgedSubject } from "./plan-look.ts";
import { isSilent, type SeenAgent } from "./read-agents.ts";
import type { LoadedRule, RuleBook } from "./rule-book.ts";

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

/** As many as a message lists, and those that a burst of others may hide. */
const LEAST_BOUNDARIES = 8;
/** A rule about boundaries an hour counts others as well. */
const MOST_BOUNDARIES = 80;

/**
 * Whether the turns of an agent must be counted. More turns never make a rule hold, so only a new boundary or an open alert asks
 * for it.
 * @param counted the newest boundary at which the turns were counted, by agent
 */
export function needsTurnTimes(
  rules: readonly LoadedRule[],
  { id, sight }: SeenAgent,
  alerted: ReadonlySet<string>,
  counted: { get(agentId: string): string | undefined },
): boolean {
  const newest = sight.boundaries[0];
  if (newest === undefined || (counted.get(id) === newest.id && !alerted.has(id))) return false;
  return rules.some(({ rule: { condition } }) => {
    return condition.type === "thrash" && sight.boundaries.length >= condition.boundaries;
  });
}

/** What the rules about agents see of one of them. */
export interface AgentsJudge {
  book: RuleBook;
  /** Open alerts by `alertKey`, and the ids of their agents. */
  open: ReadonlyMap<string, OpenAlert>;
  alerted: ReadonlySet<string>;
  /** The database's time in epoch ms. */
  now: number;
}

/** Judges an agent by every rule that selects it. Most rules find nothing: then no key is made and nothing is looked up. */
export function* judgeAgent(
  { book, open, alerted, now }: AgentsJudge,
  agent: SeenAgent,
): Generator<JudgedSubject> {
  const hasAlerts = alerted.has(agent.id);
  for (const rule of book.matching("agent", scopeOf(agent))) {
    const known = hasAlerts ? open.get(alertKey(rule.id, subjectOf(rule, agent))) : undefined;
    const sighting = sightingOf(rule, agent, known, now);
    if (known === undefined && sighting.verdict !== "met") continue;
    yield judged(rule, agent, sighting);
  }
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
  if (!book.matching("agent", scopeOf(agent)).includes(rule)) return "rule_changed";
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

function sightingOf(
  { rule }: LoadedRule,
  agent: SeenAgent,
  known: OpenAlert | undefined,
  now: number,
): AlertSighting {
  if (agent.ended) return SESSION_ENDED;
  if (isSilent(agent, now)) return SILENT;
  const finding = findInAgent(rule.condition as AgentCondition, agent.sight, known !== undefined, now);
  const counts = finding.holds && (known !== undefined || isNews(finding));
  return counts ? { verdict: "met", at: finding.at } : BELOW;
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
