import { conditionKind } from "@plimsoll/fold";
import {
  type AlertFacts,
  type AlertNotification,
  decideNotifications,
  durationMs,
  isFiring,
  isInhibited,
  type LevelAlert,
  NEW_GROUP,
  silenceOf,
} from "@plimsoll/protocol/alerts";
import type { AlertView } from "@plimsoll/protocol/api";
import { iso } from "../../times.ts";
import type { AlertGroupRow, GroupReceivers, OpenAlert } from "../alert-rows.ts";
import type { LoadedRule, RuleBook } from "../rule-book.ts";

/** Alerts that one notification lists. */
const MOST_LISTED = 50;

/** A notification and the endpoints that receive it. */
export interface Outgoing {
  endpoints: readonly string[];
  notification: AlertNotification;
}

export interface GroupsPlan {
  changed: AlertGroupRow[];
  removed: AlertGroupRow[];
  outgoing: Outgoing[];
}

export interface GroupsInput {
  project: { id: number; name: string };
  book: RuleBook;
  /** Every open alert, and every ended one that receivers still believe to fire. */
  alerts: readonly OpenAlert[];
  groups: ReadonlyMap<string, AlertGroupRow>;
  /** Keys of the groups to decide about. */
  touched: ReadonlySet<string>;
  /** For a notification. */
  newId: () => string;
  /** The database's time in epoch ms. */
  now: number;
}

/** Decides which notifications some groups send. */
export function decideGroups(input: GroupsInput): GroupsPlan {
  const { alerts, touched, groups } = input;
  const plan: GroupsPlan = { changed: [], removed: [], outgoing: [] };
  const members = new Map<string, OpenAlert[]>([...touched].map((key) => [key, []]));
  for (const alert of alerts) members.get(alert.groupKey)?.push(alert);
  const levels = firingByAgent(alerts);
  for (const [key, ofGroup] of members) decideGroup(input, groups.get(key), key, ofGroup, levels, plan);
  return plan;
}

function decideGroup(
  input: GroupsInput,
  known: AlertGroupRow | undefined,
  key: string,
  members: readonly OpenAlert[],
  levels: ReadonlyMap<string, readonly LevelAlert[]>,
  plan: GroupsPlan,
): void {
  const { book, now } = input;
  const rule = book.byId.get(key.split("/", 1)[0]!);
  const receivers = receiversOf(rule, known);
  const grouped = members.map((alert) => ({
    id: alert.id,
    state: alert.state,
    acknowledged: alert.acknowledgedBy !== undefined,
    muted: muteOf(alert, book, levels, now) !== null,
  }));
  const memory = known?.memory ?? NEW_GROUP;
  const decision = decideNotifications(memory, grouped, receivers.timing, now);
  const { notification, nextAt } = decision;
  if (notification !== undefined) {
    const toAll = notification.kind === "firing" || notification.kind === "repeated";
    const told = [...new Set([...receivers.told, ...receivers.endpoints])];
    if (toAll) receivers.told = told;
    plan.outgoing.push({
      // An endpoint that was added since never saw it firing.
      endpoints: toAll ? receivers.endpoints : receivers.told,
      notification: notificationOf(input, key, receivers.message, notification, members),
    });
  }
  const row = { key, memory: decision.memory, receivers, nextAt };
  const isEmpty = Object.keys(row.memory.told).length === 0 && row.memory.waitUntil === null;
  if (!isEmpty) {
    if (known === undefined || JSON.stringify(known) !== JSON.stringify(row)) plan.changed.push(row);
  } else if (known !== undefined) plan.removed.push(known);
}

/** Those of the rule now; of a rule that is gone, those of before. */
function receiversOf(
  rule: LoadedRule | undefined,
  known: AlertGroupRow | undefined,
): GroupReceivers & { told: readonly string[] } {
  const before = known?.receivers;
  if (rule === undefined)
    return {
      endpoints: before?.endpoints ?? [],
      told: before?.told ?? [],
      message: before?.message ?? null,
      timing: before?.timing ?? { waitMs: 0, intervalMs: 0, repeatMs: undefined },
    };
  const { endpoints, message, group_wait, group_interval, repeat_every } = rule.rule;
  return {
    endpoints,
    told: before?.told ?? [],
    message: message ?? null,
    timing: {
      waitMs: durationMs(group_wait),
      intervalMs: durationMs(group_interval),
      repeatMs: repeat_every === null ? undefined : durationMs(repeat_every),
    },
  };
}

export function firingByAgent(alerts: readonly OpenAlert[]): Map<string, LevelAlert[]> {
  const byAgent = new Map<string, LevelAlert[]>();
  for (const alert of alerts) {
    const { agentId } = alert.place;
    if (agentId === undefined || !isFiring(alert.state)) continue;
    const level = levelAlert(alert);
    const others = byAgent.get(agentId);
    if (others === undefined) byAgent.set(agentId, [level]);
    else others.push(level);
  }
  return byAgent;
}

/** An alert as the decision on inhibition sees it. */
const levelAlert = ({ id, place, facts }: OpenAlert): LevelAlert => ({
  id,
  agentId: place.agentId,
  condition: facts?.condition ?? "backlog",
  severity: facts?.severity ?? "info",
});

/**
 * Why nobody is told of an alert; null if its receivers are.
 * @param levels see `firingByAgent`
 */
export function muteOf(
  alert: OpenAlert,
  book: Pick<RuleBook, "silences">,
  levels: ReadonlyMap<string, readonly LevelAlert[]>,
  now: number,
): AlertView["muted"] {
  if (silenceOf(book.silences, alert.labels, now) !== undefined) return "silenced";
  return isInhibited(levelAlert(alert), levels.get(alert.place.agentId ?? "") ?? []) ? "inhibited" : null;
}

function notificationOf(
  { project, newId, now }: GroupsInput,
  group: string,
  message: string | null,
  { kind, alerts: ids }: { kind: AlertNotification["kind"]; alerts: readonly string[] },
  members: readonly OpenAlert[],
): AlertNotification {
  const byId = new Map(members.map((alert) => [alert.id, alert]));
  return {
    id: newId(),
    kind,
    project,
    group,
    message,
    alerts: ids.slice(0, MOST_LISTED).map((id) => {
      const facts = alertFacts(byId.get(id)!);
      return message === null ? facts : { ...facts, advice: null };
    }),
    omitted: Math.max(0, ids.length - MOST_LISTED),
    at: iso(now),
  };
}

/** An alert that has fired, as receivers and readers see it. */
export function alertFacts({
  id,
  ruleId,
  place,
  labels,
  state,
  facts,
  acknowledgedBy,
}: OpenAlert): AlertFacts {
  const { rule, severity, condition, why, level, boundaries, endedBy, path } = facts!;
  return {
    id,
    rule: { id: ruleId, name: rule, severity },
    condition,
    subject: {
      harness: place.harness ?? null,
      session: place.session ?? null,
      agent: place.agent ?? null,
      model: place.model ?? null,
    },
    labels: { ...labels },
    started_at: iso(state.startedAt!),
    fired_at: iso(state.firedAt!),
    resolved_at: state.resolvedAt === undefined ? null : iso(state.resolvedAt),
    end_reason: state.endReason ?? null,
    acknowledged_by: acknowledgedBy ?? null,
    why,
    advice: state.resolvedAt === undefined ? conditionKind({ type: condition }).advice : null,
    level,
    boundaries,
    ended_by: endedBy ?? null,
    path,
  };
}
