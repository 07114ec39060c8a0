import {
  type AlertSighting,
  type AlertStepReason,
  INACTIVE_ALERT,
  isFiring,
  stepAlert,
} from "@plimsoll/protocol/alerts";
import type { AlertPlace, FiringFacts, OpenAlert } from "./alert-rows.ts";
import { type LoadedRule, labelsOf, type ScopeFacts } from "./rule-book.ts";

/** What a rule sees of one subject. */
export interface JudgedSubject {
  rule: LoadedRule;
  /** Names the subject, such as `agent/<id>/<window>`. */
  subject: string;
  place: AlertPlace;
  facts: ScopeFacts | undefined;
  sighting: AlertSighting;
  /** What to tell if it fires now. */
  tell: () => Omit<FiringFacts, "rule" | "severity" | "condition">;
}

/** What a look changes. */
export interface LookPlan {
  changed: OpenAlert[];
  /** Pending alerts whose condition ended: nothing is kept of them. */
  removed: OpenAlert[];
  /** Reasons of the changes, by alert. */
  reasons: Map<string, AlertStepReason>;
}

export const alertKey = (ruleId: string, subject: string): string => `${ruleId} ${subject}`;

/**
 * Steps every judged subject.
 * @param open by `alertKey`
 * @param newId for a new alert
 * @param now the database's time in epoch ms
 */
export function planLook(
  open: ReadonlyMap<string, OpenAlert>,
  judged: Iterable<JudgedSubject>,
  newId: () => string,
  now: number,
): LookPlan {
  const plan: LookPlan = { changed: [], removed: [], reasons: new Map() };
  for (const subject of judged) {
    const known = open.get(alertKey(subject.rule.id, subject.subject));
    if (known === undefined) begin(plan, subject, newId, now);
    else advance(plan, known, subject, now);
  }
  return plan;
}

/** Ends an open alert without a look at its subject. */
export function endAlert(
  plan: LookPlan,
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

function begin(plan: LookPlan, judged: JudgedSubject, newId: () => string, now: number): void {
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

function advance(plan: LookPlan, known: OpenAlert, judged: JudgedSubject, now: number): void {
  const { state, reason } = stepAlert(known.state, judged.sighting, now, judged.rule.timing);
  if (reason !== undefined) plan.reasons.set(known.id, reason);
  if (state.phase === "inactive") {
    plan.removed.push(known);
    return;
  }
  if (reason === undefined && sameTimes(state, known.state)) return;
  const fires = isFiring(state) && known.facts === undefined;
  plan.changed.push({ ...known, state, facts: fires ? factsOf(judged) : known.facts });
}

const sameTimes = (one: OpenAlert["state"], other: OpenAlert["state"]) =>
  one.pendingAt === other.pendingAt && one.clearAt === other.clearAt;

function factsOf({ rule: { rule }, tell }: JudgedSubject): FiringFacts {
  const { name, severity, condition } = rule;
  return { rule: name, severity, condition: condition.type, ...tell() };
}

/** The group of an alert: its rule, and the labels that the rule groups by. */
function groupKeyOf({ id, rule }: LoadedRule, labels: OpenAlert["labels"]): string {
  return [id, ...rule.group_by.map((label) => encodeURIComponent(labels[label] ?? ""))].join("/");
}
