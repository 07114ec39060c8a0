import { nextStepAt } from "@plimsoll/protocol/alerts";
import { v7 as uuid } from "uuid";
import { slotOf } from "../../db/tables/buckets.ts";
import { LIVE_FOR } from "../../read/liveness.ts";
import type { OpenAlert } from "../alert-rows.ts";
import { judgeSubjects } from "../conditions/index.ts";
import { alertKey, type JudgedSubject, type JudgeInput } from "../judged-subject.ts";
import { decideGroups, type GroupsPlan } from "./decide-groups.ts";
import {
  endOf,
  judgeAgent,
  kindOf,
  LEAST_BOUNDARIES,
  needsCaches,
  needsOf,
  needsTurnTimes,
} from "./judge-agents.ts";
import type { OpenAlerts } from "./open-alerts.ts";
import type { EvaluationWork } from "./pause-after-evaluation.ts";
import { type AlertsPlan, endAlert, planAlerts } from "./plan-evaluation.ts";
import {
  type AgentsSource,
  addBoundaries,
  addCaches,
  addTurnTimes,
  readLiveAgents,
  readSessionAgents,
  type SeenAgent,
} from "./read-agents.ts";

/** Signals that one evaluation takes. */
const MOST_SIGNALS = 500;
/** Sessions that one statement reads. */
const SESSIONS_AT_ONCE = 500;
/** Agents that one evaluation of all live ones reads. */
const MOST_LIVE = 5_000;

/** Milliseconds of judging after which other work gets a turn. */
const SLICE_MS = 4;

const READ_SIGNALS = `
SELECT id, sessions FROM alert_signals WHERE project_id = $1 ORDER BY id LIMIT ${MOST_SIGNALS}`;

export interface EvaluationInput extends JudgeInput {
  open: OpenAlerts;
  /** Whether what only time changes is due. */
  isTick: boolean;
  /** Whether all live agents are evaluated. */
  seesAll: boolean;
  /** Whether every group is decided about. */
  decidesAll: boolean;
}

/** What an evaluation writes, in one transaction. */
export interface PlannedEvaluation {
  alerts: AlertsPlan;
  groups: GroupsPlan;
  /** Ids of the signals that were read. */
  signals: readonly string[];
  /** Ended alerts that no receiver believes to fire. */
  forgotten: readonly OpenAlert[];
  /** Whether no rule and no alert is left. */
  finished: boolean;
  isEmpty: boolean;
  work: EvaluationWork;
}

/** One evaluation of the rules of a project. Reads and plans; writes nothing. */
export class Evaluation {
  readonly #input: EvaluationInput;

  constructor(input: EvaluationInput) {
    this.#input = input;
  }

  async plan(): Promise<PlannedEvaluation> {
    const { sql, project, open, now } = this.#input;
    // Before the agents: an agent that is read later is at least as new as its signal.
    const signals = await sql.query<{ id: string; sessions: string[] }>(READ_SIGNALS, project.id);
    const sessions = this.#sessionsToSee(signals.flatMap((signal) => signal.sessions));
    const agents = await this.#seeAgents(sessions);
    const judged = await this.#judgeAgents(agents);
    await this.#addLastBoundaries(judged, agents);
    if (this.#input.isTick) judged.push(...(await judgeSubjects(this.#input)));
    const alerts = planAlerts(open.byKey, judged, uuid, now);
    this.#endOthers(
      alerts,
      agents,
      sessions,
      new Set(judged.map(({ rule, subject }) => alertKey(rule.id, subject))),
    );
    const groups = this.#decide(alerts);
    return this.#written(
      alerts,
      groups,
      signals.map(({ id }) => id),
      agents,
    );
  }

  #sessionsToSee(signalled: readonly string[]): Set<string> {
    const { open, book, now, isTick } = this.#input;
    const sessions = new Set(signalled);
    for (const { place, ruleId, state } of open.byKey.values()) {
      if (place.agentId === undefined) continue;
      const timing = book.byId.get(ruleId)?.timing;
      const isDue = timing !== undefined && (nextStepAt(state, timing) ?? Number.POSITIVE_INFINITY) <= now;
      if (isDue) sessions.add(place.sessionId!);
    }
    if (isTick) for (const session of open.sessionsToSeeAgain()) sessions.add(session);
    return sessions;
  }

  async #judgeAgents(agents: readonly SeenAgent[]): Promise<JudgedSubject[]> {
    const { book, open, now } = this.#input;
    const judge = { book, open: open.byAgent, now };
    const judged: JudgedSubject[] = [];
    let sliceEnds = performance.now() + SLICE_MS;
    for (const agent of agents) {
      judged.push(...judgeAgent(judge, agent));
      if (performance.now() < sliceEnds) continue;
      await new Promise(setImmediate);
      sliceEnds = performance.now() + SLICE_MS;
    }
    return judged;
  }

  /** The message of an alert that fires or ends names the last boundaries of its agent. */
  async #addLastBoundaries(judged: readonly JudgedSubject[], agents: readonly SeenAgent[]): Promise<void> {
    const { open } = this.#input;
    const firing = new Set<string>();
    for (const { rule, subject, sighting, place } of judged) {
      const known = open.byKey.get(alertKey(rule.id, subject));
      const fires = sighting.verdict === "met" && known?.facts === undefined;
      const ends = sighting.verdict === "clear" && known?.facts !== undefined;
      if (fires || ends) firing.add(place.agentId!);
    }
    const without = agents.filter(({ id, sight }) => firing.has(id) && sight.boundaries.length === 0);
    await addBoundaries(this.#source(), without, LEAST_BOUNDARIES);
  }

  #source(): AgentsSource {
    const { sql, project, policy, now } = this.#input;
    return { sql, projectId: project.id, policy, now };
  }

  async #seeAgents(sessions: ReadonlySet<string>): Promise<SeenAgent[]> {
    const { book, open, now, seesAll } = this.#input;
    const rules = book.agentRules;
    if (rules.length === 0 && open.byKey.size === 0) return [];
    const source = this.#source();
    const agents: SeenAgent[] = [];
    const ids = [...sessions];
    for (let from = 0; from < ids.length; from += SESSIONS_AT_ONCE)
      agents.push(...(await readSessionAgents(source, ids.slice(from, from + SESSIONS_AT_ONCE))));
    if (seesAll && rules.length > 0) {
      const seen = new Set(agents.map(({ id }) => id));
      const live = await readLiveAgents(source, slotOf(now - LIVE_FOR), MOST_LIVE);
      agents.push(...live.filter(({ id }) => !seen.has(id)));
    }
    const needs = rules.map(needsOf);
    const cacheTurns = Math.max(0, ...needs.map((need) => need.cacheTurns ?? 0));
    if (cacheTurns > 0) {
      const compared = agents.filter((agent) => needsCaches(book, agent, now));
      await addCaches(source, compared, cacheTurns);
    }
    if (!rules.some((rule) => kindOf(rule).spansWindows)) return agents;
    const most = Math.max(LEAST_BOUNDARIES, ...needs.map(({ boundaries = 0 }) => boundaries));
    await addBoundaries(source, agents, most);
    const alerted = open.byAgent;
    const counting = agents.filter((agent) => needsTurnTimes(rules, agent, alerted, open.counted));
    for (const { id, sight } of counting) open.counted.set(id, sight.boundaries[0]!.id);
    const last = Math.max(...needs.map(({ turnsSince }) => turnsSince?.boundary ?? 0));
    if (counting.length > 0) await addTurnTimes(source, counting, last);
    return agents;
  }

  /** Ends open alerts that nothing was judged for: their rule, agent or window is gone. */
  #endOthers(
    plan: AlertsPlan,
    agents: readonly SeenAgent[],
    sessions: ReadonlySet<string>,
    judged: ReadonlySet<string>,
  ): void {
    const { book, open, now, isTick } = this.#input;
    const byId = new Map(agents.map((agent) => [agent.id, agent]));
    const done = new Set([...plan.changed, ...plan.removed].map(({ id }) => id));
    for (const [key, alert] of open.byKey) {
      const rule = book.byId.get(alert.ruleId);
      if (rule === undefined || rule.judgedVersion !== alert.judgedVersion) {
        const isKept = rule !== undefined || book.disabled.has(alert.ruleId);
        undo(plan, alert);
        endAlert(plan, alert, isKept ? "rule_changed" : "rule_deleted", now);
        continue;
      }
      if (judged.has(key) || done.has(alert.id)) continue;
      const { agentId, sessionId } = alert.place;
      if (agentId === undefined) {
        if (isTick) endAlert(plan, alert, "subject_deleted", now);
        continue;
      }
      const agent = byId.get(agentId);
      if (agent === undefined) {
        if (sessions.has(sessionId!)) endAlert(plan, alert, "subject_deleted", now);
        continue;
      }
      const reason = endOf(alert, book, agent, now);
      if (reason !== undefined) endAlert(plan, alert, reason, now);
    }
  }

  #decide(plan: AlertsPlan): GroupsPlan {
    const { project, book, open, now, decidesAll } = this.#input;
    const changed = new Map(plan.changed.map((alert) => [alert.id, alert]));
    const removed = new Set(plan.removed.map(({ id }) => id));
    const touched = new Set<string>();
    const agents = new Set<string>();
    for (const { groupKey, place } of [...plan.changed, ...plan.removed]) {
      touched.add(groupKey);
      if (place.agentId !== undefined) agents.add(place.agentId);
    }
    for (const { key, nextAt } of open.groups.values())
      if (decidesAll || (nextAt !== undefined && nextAt <= now)) touched.add(key);
    const alerts: OpenAlert[] = plan.changed.filter(({ id }) => !open.byId.has(id));
    for (const alert of open.byId.values()) {
      if (removed.has(alert.id)) continue;
      const facts = plan.seen.get(alert.id);
      alerts.push(changed.get(alert.id) ?? (facts === undefined ? alert : { ...alert, facts }));
      // What mutes an alert may have changed with another alert of its agent.
      if (decidesAll || agents.has(alert.place.agentId ?? "")) touched.add(alert.groupKey);
    }
    if (touched.size === 0) return { changed: [], removed: [], outgoing: [] };
    return decideGroups({ project, book, alerts, groups: open.groups, touched, newId: uuid, now });
  }

  #written(
    alerts: AlertsPlan,
    groups: GroupsPlan,
    signals: readonly string[],
    agents: readonly SeenAgent[],
  ): PlannedEvaluation {
    const { book, open } = this.#input;
    const memory = new Map(open.groups);
    for (const group of groups.changed) memory.set(group.key, group);
    for (const { key } of groups.removed) memory.delete(key);
    const isTold = ({ groupKey, id }: OpenAlert) => memory.get(groupKey)?.memory.told[id] !== undefined;
    const after = new Map([...open.byId, ...alerts.changed.map((alert) => [alert.id, alert] as const)]);
    for (const { id } of alerts.removed) after.delete(id);
    const forgotten = [...after.values()].filter(
      (alert) => alert.state.phase === "resolved" && !isTold(alert),
    );
    const finished = book.rules.length === 0 && after.size === forgotten.length && memory.size === 0;
    const changes = [
      alerts.changed,
      alerts.removed,
      groups.changed,
      groups.removed,
      groups.outgoing,
      signals,
    ];
    const isEmpty = !finished && changes.every(({ length }) => length === 0);
    const work = {
      agents: agents.length,
      counted: agents.filter(({ sight }) => sight.turnTimes !== undefined || sight.caches.length > 0).length,
      changed: alerts.changed.length + alerts.removed.length,
      open: after.size,
    };
    return { alerts, groups, signals, forgotten, finished, isEmpty, work };
  }
}

/** Takes back what the step of an alert planned. */
function undo(plan: AlertsPlan, { id }: OpenAlert): void {
  plan.changed = plan.changed.filter((alert) => alert.id !== id);
  plan.removed = plan.removed.filter((alert) => alert.id !== id);
}
