import {
  type AgentConditionKind,
  agentConditionKind,
  isNews,
  leastTurnsAfterBoundary,
  type SightNeeds,
} from "@plimsoll/fold";
import type { AgentConditionType, AlertSighting } from "@plimsoll/protocol/alerts";
import { LIVE_FOR } from "../../read/liveness.ts";
import { DAY_MS } from "../../times.ts";
import type { AlertPlace, OpenAlert } from "../alert-rows.ts";
import { boundariesOf, levelOf } from "../describe-alert.ts";
import type { JudgedSubject } from "../judged-subject.ts";
import { type AgentRule, isAgentRule, type LoadedRule, type RuleBook, selects } from "../rule-book.ts";
import { isSilent, type SeenAgent } from "./read-agents.ts";

/** Boundaries of an agent that a message lists, and those that a burst of others may hide. */
export const LEAST_BOUNDARIES = 8;

export const kindOf = ({ rule }: AgentRule): AgentConditionKind<AgentConditionType> =>
  agentConditionKind(rule.condition);
export const needsOf = ({ rule: { condition } }: AgentRule): SightNeeds =>
  agentConditionKind(condition).needs?.(condition) ?? {};

/**
 * Whether the turns of an agent must be counted. More turns never make a rule hold, so only a new boundary or an open alert asks
 * for it, and only while the agent has had few turns since the boundary.
 * @param counted the newest boundary at which the turns were counted, by agent
 */
export function needsTurnTimes(
  rules: readonly AgentRule[],
  { id, sight }: SeenAgent,
  alerted: { has(agentId: string): boolean },
  counted: { get(agentId: string): string | undefined },
): boolean {
  const newest = sight.boundaries[0];
  if (newest === undefined || (counted.get(id) === newest.id && !alerted.has(id))) return false;
  const atLeast = leastTurnsAfterBoundary(sight);
  return rules.some((rule) => {
    const { turnsSince } = needsOf(rule);
    return (
      turnsSince !== undefined && sight.boundaries.length >= turnsSince.boundary && atLeast <= turnsSince.most
    );
  });
}

/** Whether a rule looks at the caches of an agent. */
export function needsCaches(book: RuleBook, agent: SeenAgent, now: number): boolean {
  if (agent.ended || isSilent(agent, now)) return false;
  return book.agentRulesFor(agentScope(agent)).some((rule) => needsOf(rule).cacheTurns !== undefined);
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
  const facts = agentScope(agent);
  const known = new Set<LoadedRule>();
  for (const { ruleId, subject } of open.get(agent.id) ?? []) {
    const rule = book.byId.get(ruleId);
    if (
      rule === undefined ||
      !isAgentRule(rule) ||
      subject !== subjectOf(rule, agent) ||
      !selects(rule, facts)
    )
      continue;
    known.add(rule);
    yield judged(rule, agent, sightingOf(rule, agent, now));
  }
  if (agent.ended || isSilent(agent, now)) return;
  for (const rule of book.agentRulesFor(facts)) {
    if (known.has(rule)) continue;
    const finding = kindOf(rule).find(rule.rule.condition, agent.sight, false, now);
    if (finding.holds && isNews(finding)) yield judged(rule, agent, { verdict: "met", at: finding.at });
  }
}

/** How an open alert ends whose agent was read and not judged for it; undefined if it goes on. */
export function endOf(
  alert: OpenAlert,
  book: RuleBook,
  agent: SeenAgent,
  now: number,
): "window_ended" | "rule_changed" | "session_ended" | "gone" | undefined {
  if (agent.ended) return "session_ended";
  if (isGone(agent, now)) return "gone";
  if (isSilent(agent, now)) return undefined;
  const rule = book.byId.get(alert.ruleId);
  if (rule === undefined || !isAgentRule(rule)) return undefined;
  if (!selects(rule, agentScope(agent))) return "rule_changed";
  return alert.subject === subjectOf(rule, agent) ? undefined : "window_ended";
}

/** What the scope of a rule selects an agent by. */
export const agentScope = ({ harness, session, name, model, kind }: SeenAgent) => ({
  harness,
  session,
  agent: name,
  model,
  kind,
});

/** Where an alert about an agent is. */
export const agentPlace = ({ id, name, harness, session, sessionId, model }: SeenAgent): AlertPlace => ({
  harness,
  session,
  sessionId,
  agent: name,
  agentId: id,
  model,
});

const subjectOf = (rule: AgentRule, { id, sight }: SeenAgent): string =>
  kindOf(rule).spansWindows ? `agent/${id}` : `agent/${id}/${sight.window}`;

/** Whether an agent that has been silent for a day has ended without saying so. */
const isGone = ({ lastReceivedAt }: SeenAgent, now: number): boolean =>
  lastReceivedAt <= now - LIVE_FOR - DAY_MS;

/** What the rule of an open alert sees. */
function sightingOf(rule: AgentRule, agent: SeenAgent, now: number): AlertSighting {
  if (agent.ended) return SESSION_ENDED;
  if (isGone(agent, now)) return GONE;
  if (isSilent(agent, now)) return SILENT;
  const { holds, at } = kindOf(rule).find(rule.rule.condition, agent.sight, true, now);
  return holds ? { verdict: "met", at } : BELOW;
}

const SESSION_ENDED: AlertSighting = { verdict: "over", reason: "session_ended" };
const GONE: AlertSighting = { verdict: "over", reason: "gone" };
const SILENT: AlertSighting = { verdict: "silent" };
const BELOW: AlertSighting = { verdict: "clear", reason: "below" };

function judged(rule: AgentRule, agent: SeenAgent, sighting: AlertSighting): JudgedSubject {
  const { id, sessionId, turnKey } = agent;
  return {
    rule,
    subject: subjectOf(rule, agent),
    sighting,
    facts: agentScope(agent),
    place: agentPlace(agent),
    // Boundaries may be added to the sight after it was judged.
    report: () => ({
      why: kindOf(rule).why(rule.rule.condition, agent.sight),
      level: levelOf(agent.sight),
      boundaries: boundariesOf(agent.sight),
      path: `/sessions/${sessionId}?agent=${id}${turnKey === undefined ? "" : `&turn=${turnKey}`}`,
    }),
  };
}
