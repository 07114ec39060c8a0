import {
  type AlertSighting,
  type AlertStepReason,
  INACTIVE_ALERT,
  isFiring,
  isLevelCondition,
  stepAlert,
} from "@plimsoll/protocol/alerts";
import type { FiringFacts, OpenAlert } from "../alert-rows.ts";
import { alertKey, type JudgedSubject } from "../judged-subject.ts";
import { type LoadedRule, labelsOf } from "../rule-book.ts";

/** What an evaluation changes. */
export interface AlertsPlan {
  changed: OpenAlert[];
  /** Pending alerts whose condition ended: nothing is kept of them. */
  removed: OpenAlert[];
  /** Reasons of the changes, by alert. */
  reasons: Map<string, AlertStepReason>;
  /** What notifications say now of alerts that fire and do not change, by alert. Not stored. */
  seen: Map<string, FiringFacts>;
}

/**
 * Steps every judged subject.
 * @param open by `alertKey`
 * @param newId for a new alert
 * @param now the database's time in epoch ms
 */
export function planAlerts(
  open: ReadonlyMap<string, OpenAlert>,
  judged: Iterable<JudgedSubject>,
  newId: () => string,
  now: number,
): AlertsPlan {
  const plan: AlertsPlan = { changed: [], removed: [], reasons: new Map(), seen: new Map() };
  for (const subject of judged) {
    const known = open.get(alertKey(subject.rule.id, subject.subject));
    if (known === undefined) begin(plan, subject, newId, now);
    else advance(plan, known, subject, now);
  }
  return plan;
}

/** Ends an open alert whose subject was not judged. */
export function endAlert(
  plan: AlertsPlan,
  alert: OpenAlert,
  reason: Extract<AlertSighting, { verdict: "over" }>["reason"],
  now: number,
): void {
  const timing = { forMs: 0, keepFiringMs: 0 };
  const step = stepAlert(alert.state, { verdict: "over", reason }, now, timing);
  if (step.reason === undefined) return;
  plan.reasons.set(alert.id, step.reason);
  if (step.state.phase === "inactive") plan.removed.push(alert);
  else plan.changed.push({ ...alert, state: step.state });
}

function begin(plan: AlertsPlan, judged: JudgedSubject, newId: () => string, now: number): void {
  const { rule, subject, place, facts, sighting } = judged;
  if (sighting.verdict !== "met") return;
  const { state, reason } = stepAlert(INACTIVE_ALERT, sighting, now, rule.timing);
  const labels = labelsOf(rule.rule, facts ?? {});
  const alert: OpenAlert = {
    id: newId(),
    ruleId: rule.id,
    judgedVersion: rule.judgedVersion,
    subject,
    place,
    labels,
    groupKey: groupKeyOf(rule, labels),
    state,
    facts: isFiring(state) ? factsOf(judged) : undefined,
    acknowledgedBy: undefined,
  };
  plan.reasons.set(alert.id, reason!);
  plan.changed.push(alert);
}

function advance(plan: AlertsPlan, known: OpenAlert, judged: JudgedSubject, now: number): void {
  const { state, reason } = stepAlert(known.state, judged.sighting, now, judged.rule.timing);
  if (reason !== undefined) plan.reasons.set(known.id, reason);
  if (state.phase === "inactive") {
    plan.removed.push(known);
    return;
  }
  const facts = isFiring(state) || known.facts !== undefined ? factsNow(judged, known) : undefined;
  if (reason === undefined && sameTimes(state, known.state)) {
    if (facts !== undefined) plan.seen.set(known.id, facts);
    return;
  }
  plan.changed.push({ ...known, state, facts });
}

/**
 * The level is that of now. The link stays at the turn with which it fired, and the reason too once it no longer holds. Boundaries are
 * read only where an alert fires or ends.
 */
function factsNow(judged: JudgedSubject, { facts: known, state: { startedAt } }: OpenAlert): FiringFacts {
  const { sighting } = judged;
  if (known === undefined) return factsOf(judged);
  if (sighting.verdict === "silent") return known;
  const { endedBy: _, ...before } = known;
  const now = factsOf(judged);
  const boundaries = now.boundaries.length === 0 ? known.boundaries : now.boundaries;
  if (sighting.verdict === "met") return { ...now, boundaries, path: known.path };
  const [newest] = now.boundaries;
  // Of other conditions, a boundary may be what they are about.
  const isCause =
    isLevelCondition(known.condition) && newest !== undefined && Date.parse(newest.at) >= startedAt!;
  return { ...before, level: now.level, boundaries, ...(isCause && { endedBy: newest }) };
}

const sameTimes = (one: OpenAlert["state"], other: OpenAlert["state"]) =>
  one.pendingAt === other.pendingAt && one.clearAt === other.clearAt;

function factsOf({ rule: { rule }, report }: JudgedSubject): FiringFacts {
  const { name, severity, condition } = rule;
  return { rule: name, severity, condition: condition.type, ...report() };
}

/** The group of an alert: its rule, and the labels that the rule groups by. */
function groupKeyOf({ id, rule }: LoadedRule, labels: OpenAlert["labels"]): string {
  return [id, ...rule.group_by.map((label) => encodeURIComponent(labels[label] ?? ""))].join("/");
}
