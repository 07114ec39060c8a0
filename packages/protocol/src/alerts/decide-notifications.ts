import { type AlertConditionType, isLevelCondition } from "./alert-conditions.ts";
import { type AlertLabels, type AlertMatcher, matchesAll } from "./alert-matchers.ts";
import { type AlertState, isFiring } from "./alert-state.ts";
import { ALERT_SEVERITIES, type AlertSeverity, type NotificationKind } from "./notification.ts";

/** An alert of a group, as the decision sees it. */
export interface GroupedAlert {
  id: string;
  state: Pick<AlertState, "phase">;
  acknowledged: boolean;
  /** A silence matches it, or a more severe alert of the same agent fires. */
  muted: boolean;
}

/** What the receivers of a group know, and when the next notification is due. Plain JSON. Times in epoch ms. */
export interface GroupMemory {
  /** Alerts that they were told to fire, and how they know them. */
  told: Readonly<Record<string, "firing" | "acknowledged">>;
  /** When they were told last; null if nothing they were told fires any more. */
  lastAt: number | null;
  /** When a first notification is due; null if none is. */
  waitUntil: number | null;
}

export const NEW_GROUP: GroupMemory = { told: {}, lastAt: null, waitUntil: null };

/** Milliseconds. */
export interface GroupTiming {
  waitMs: number;
  intervalMs: number;
  /** Undefined never repeats. */
  repeatMs: number | undefined;
}

export interface GroupDecision {
  memory: GroupMemory;
  /** Undefined if the receivers are not told anything now. */
  notification:
    | { kind: Exclude<NotificationKind, "test"> /** Ids, changed ones first. */; alerts: string[] }
    | undefined;
  /** When to decide again if nothing changes; undefined if never. Epoch ms. */
  nextAt: number | undefined;
}

/**
 * Decides whether a group of alerts sends a notification now. Receivers learn of the end of every alert that they were notified of,
 * and of no other.
 * @param alerts every alert of the group that fires, and every one that the memory knows
 */
export function decideNotifications(
  memory: GroupMemory,
  alerts: readonly GroupedAlert[],
  timing: GroupTiming,
  now: number,
): GroupDecision {
  const told = (alert: GroupedAlert) => memory.told[alert.id];
  const firing = alerts.filter(({ state }) => isFiring(state));
  const fresh = firing.filter((alert) => !alert.muted && told(alert) === undefined);
  const ended = alerts.filter((alert) => !isFiring(alert.state) && told(alert) !== undefined);
  const standing = firing.filter((alert) => told(alert) !== undefined);
  // The clock may have been set back.
  const lastAt = memory.lastAt === null ? null : Math.min(memory.lastAt, now);

  if (ended.length > 0 && standing.length === 0 && fresh.length === 0)
    return tell("resolved", ended, [], NEW_GROUP, undefined);
  if (fresh.length === 0 && ended.length === 0) return unchanged(memory, standing, lastAt, timing, now);

  const due =
    lastAt === null
      ? Math.min(memory.waitUntil ?? now + timing.waitMs, now + timing.waitMs)
      : lastAt + timing.intervalMs;
  if (now < due) {
    const waiting = { ...memory, lastAt, waitUntil: lastAt === null ? due : null };
    return { memory: waiting, notification: undefined, nextAt: due };
  }
  const after = remember([...standing, ...fresh], memory, now);
  return tell("firing", [...fresh, ...ended], standing, after, repeatAt(after, timing));
}

/** No alert is new, and none has ended. */
function unchanged(
  memory: GroupMemory,
  standing: readonly GroupedAlert[],
  lastAt: number | null,
  timing: GroupTiming,
  now: number,
): GroupDecision {
  // Alerts that ended before their first notification leave nothing to wait for.
  if (standing.length === 0) return quiet(NEW_GROUP);
  const known = { ...memory, lastAt, waitUntil: null };
  const accepted = standing.filter(({ id, acknowledged }) => acknowledged && memory.told[id] === "firing");
  if (accepted.length > 0 && standing.every(({ acknowledged }) => acknowledged)) {
    const others = standing.filter((alert) => !accepted.includes(alert));
    const told = Object.fromEntries(standing.map(({ id }) => [id, "acknowledged" as const]));
    return tell("acknowledged", accepted, others, { ...known, told, lastAt: now }, undefined);
  }
  const due = repeatAt(known, timing);
  // A person knows of an acknowledged alert, and asked not to hear of a muted one. Without data there is nothing to say.
  const worth = standing.filter(
    ({ acknowledged, muted, state }) => !acknowledged && !muted && state.phase === "firing",
  );
  if (due === undefined || worth.length === 0) return quiet(known);
  if (now < due) return { ...quiet(known), nextAt: due };
  const after = { ...known, lastAt: now };
  const others = standing.filter((alert) => !worth.includes(alert));
  return tell("repeated", worth, others, after, repeatAt(after, timing));
}

const quiet = (memory: GroupMemory): GroupDecision => ({
  memory,
  notification: undefined,
  nextAt: undefined,
});

const repeatAt = ({ lastAt }: GroupMemory, { repeatMs }: GroupTiming): number | undefined =>
  lastAt === null || repeatMs === undefined ? undefined : lastAt + repeatMs;

function remember(firing: readonly GroupedAlert[], memory: GroupMemory, now: number): GroupMemory {
  const told = firing.map(({ id, acknowledged }) => {
    const known = memory.told[id] ?? (acknowledged ? "acknowledged" : "firing");
    return [id, known] as const;
  });
  return { told: Object.fromEntries(told), lastAt: now, waitUntil: null };
}

function tell(
  kind: Exclude<NotificationKind, "test">,
  changed: readonly GroupedAlert[],
  others: readonly GroupedAlert[],
  memory: GroupMemory,
  nextAt: number | undefined,
): GroupDecision {
  const alerts = [...changed, ...others].map(({ id }) => id);
  return { memory, notification: { kind, alerts }, nextAt };
}

/** A silence as the decision sees it. Times in epoch ms. */
export interface ActiveSilence {
  id: string;
  matchers: readonly AlertMatcher[];
  startsAt: number;
  endsAt: number;
}

/** The silence that mutes an alert with these labels; undefined if none does. */
export function silenceOf(
  silences: readonly ActiveSilence[],
  labels: AlertLabels,
  now: number,
): ActiveSilence | undefined {
  return silences.find(
    ({ startsAt, endsAt, matchers }) => startsAt <= now && now < endsAt && matchesAll(matchers, labels),
  );
}

/** A firing alert that may inhibit another one. */
export interface LevelAlert {
  id: string;
  agentId: string | undefined;
  condition: AlertConditionType;
  severity: AlertSeverity;
}

/** Whether a more severe alert on the level of the same agent fires. */
export function isInhibited(alert: LevelAlert, firing: readonly LevelAlert[]): boolean {
  const { agentId, condition, severity } = alert;
  if (agentId === undefined || !isLevelCondition(condition)) return false;
  return firing.some(
    (other) =>
      other.agentId === agentId && isLevelCondition(other.condition) && rank(other.severity) < rank(severity),
  );
}

const rank = (severity: AlertSeverity) => ALERT_SEVERITIES.indexOf(severity);
