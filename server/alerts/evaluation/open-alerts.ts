import { isFiring, nextStepAt } from "@plimsoll/protocol/alerts";
import { LRUCache } from "lru-cache";
import type { Sql } from "../../db/sql.ts";
import {
  type AlertGroupRow,
  type OpenAlert,
  readAlertAcknowledgements,
  readOpenAlerts,
} from "../alert-rows.ts";
import { alertKey } from "../judged-subject.ts";
import type { RuleBook } from "../rule-book.ts";
import type { PlannedEvaluation } from "./evaluation.ts";

/** Agents whose latest count is remembered. */
const COUNTED = 20_000;

/** Sessions that one tick sees again: all of so many, or a tenth. What agents send meanwhile waits for it. */
const SEEN_AGAIN = { least: 50, share: 0.1 };

/** The open alerts of a project and their groups, as the holder of the lease wrote them. */
export class OpenAlerts {
  /** Open ones, and ended ones that receivers still believe to fire. */
  readonly byId: Map<string, OpenAlert>;
  /** Open ones, by `alertKey`. */
  readonly byKey = new Map<string, OpenAlert>();
  readonly groups: Map<string, AlertGroupRow>;
  /** The newest boundary at which the turns of an agent were counted, by agent. Empty it when rules change. */
  readonly counted = new LRUCache<string, string>({ max: COUNTED });

  /** Where the next tick goes on. */
  #nextToSee = 0;

  private constructor(alerts: readonly OpenAlert[], groups: readonly AlertGroupRow[]) {
    this.byId = new Map();
    for (const alert of alerts) this.#set(alert);
    this.groups = new Map(groups.map((group) => [group.key, group]));
  }

  static async read(sql: Pick<Sql, "query">, projectId: number): Promise<OpenAlerts> {
    const { alerts, groups } = await readOpenAlerts(sql, projectId);
    return new OpenAlerts(alerts, groups);
  }

  /** Open ones of agents, by the id of the agent. */
  get byAgent(): Map<string, OpenAlert[]> {
    const byAgent = new Map<string, OpenAlert[]>();
    for (const alert of this.byKey.values()) {
      const { agentId } = alert.place;
      if (agentId === undefined) continue;
      const others = byAgent.get(agentId);
      if (others === undefined) byAgent.set(agentId, [alert]);
      else others.push(alert);
    }
    return byAgent;
  }

  /** Sessions with open alerts of agents, a part of them in turn. */
  sessionsToSeeAgain(): string[] {
    const sessions = new Set<string>();
    for (const { place } of this.byKey.values())
      if (place.agentId !== undefined) sessions.add(place.sessionId!);
    const all = [...sessions];
    const count = Math.max(SEEN_AGAIN.least, Math.ceil(SEEN_AGAIN.share * all.length));
    if (count >= all.length) return all;
    const from = this.#nextToSee % all.length;
    this.#nextToSee = from + count;
    return [...all, ...all].slice(from, from + count);
  }

  async readAcknowledgements(sql: Pick<Sql, "query">, projectId: number): Promise<void> {
    for (const [id, acknowledgedBy] of await readAlertAcknowledgements(sql, projectId)) {
      const alert = this.byId.get(id);
      if (alert !== undefined) this.#set({ ...alert, acknowledgedBy });
    }
  }

  /** Remembers what an evaluation wrote. */
  apply({ alerts, groups, forgotten }: PlannedEvaluation): void {
    for (const alert of alerts.changed) this.#set(alert);
    for (const alert of alerts.removed) this.#drop(alert);
    for (const group of groups.changed) this.groups.set(group.key, group);
    for (const { key } of groups.removed) this.groups.delete(key);
    for (const alert of forgotten) this.#drop(alert);
  }

  /** When time alone changes an alert or a group; undefined if it changes none. Epoch ms. */
  nextAt(book: RuleBook): number | undefined {
    const times: number[] = [];
    for (const { ruleId, state } of this.byKey.values()) {
      const timing = book.byId.get(ruleId)?.timing;
      const at = timing && nextStepAt(state, timing);
      if (at !== undefined) times.push(at);
    }
    for (const { nextAt } of this.groups.values()) if (nextAt !== undefined) times.push(nextAt);
    return times.length === 0 ? undefined : times.reduce((one, other) => Math.min(one, other));
  }

  #set(alert: OpenAlert): void {
    this.byId.set(alert.id, alert);
    const key = alertKey(alert.ruleId, alert.subject);
    if (isFiring(alert.state) || alert.state.phase === "pending") this.byKey.set(key, alert);
    else if (this.byKey.get(key)?.id === alert.id) this.byKey.delete(key);
  }

  #drop({ id, ruleId, subject }: OpenAlert): void {
    this.byId.delete(id);
    const key = alertKey(ruleId, subject);
    if (this.byKey.get(key)?.id === id) this.byKey.delete(key);
  }
}
