import type {
  AlertBoundary,
  AlertEndReason,
  AlertFacts,
  AlertLevel,
  AlertNotification,
  AlertSeverity,
} from "@plimsoll/protocol";
import { counted, durationText, number, percent } from "../../describe-alert.ts";

/** Characters of a name in a message. */
const LONGEST_NAME = 200;

/** Cuts a text at whole characters, and says so. */
export function cut(text: string, most: number): string {
  if (text.length <= most) return text;
  let end = most - 1;
  // Not between the halves of a character.
  if (/[\uD800-\uDBFF]/.test(text.charAt(end - 1))) end -= 1;
  return `${text.slice(0, end).trimEnd()}…`;
}

/** A text from outside, on one line, without what hides or reorders it. Never empty: receivers refuse empty texts. */
export function plain(text: string, most = LONGEST_NAME): string {
  const line = visible(text.replace(/[\p{Cc}\u2028\u2029]+/gu, " "));
  return line === "" ? "(blank)" : cut(line, most);
}

const visible = (text: string) => text.replace(/[\p{Cf}\p{Cs}]/gu, "").trim();

/** What the rule's author wrote, with its lines; undefined if there is nothing to read. */
export function messageOf({ message }: AlertNotification): string | undefined {
  const text = visible((message ?? "").replace(/[^\P{Cc}\n]+|[\u2028\u2029]/gu, " "));
  return text === "" ? undefined : text;
}

const PREFIX: Record<AlertNotification["kind"], string> = {
  firing: "",
  repeated: "Still firing: ",
  acknowledged: "Acknowledged: ",
  resolved: "Resolved: ",
  test: "Test: ",
};

/** Such as `Resolved: Ceiling crossed at phantom@vm-3, fix the build`. */
export function titleOf({ kind, alerts, omitted }: AlertNotification): string {
  const [first] = alerts;
  if (first === undefined) return `${PREFIX[kind]}no alert`;
  const all = alerts.length + omitted;
  const place = all === 1 ? placeOf(first) : commonPlace(alerts);
  const rule = all === 1 ? plain(first.rule.name) : `${plain(first.rule.name)}, ${counted(all, "alert")}`;
  return `${PREFIX[kind]}${rule}${place === "" ? "" : ` at ${place}`}`;
}

/** The harness, the session and the agent, as far as an alert has them. */
export function placeOf({ subject: { harness, session, agent } }: AlertFacts): string {
  return [harness, session, agent === session ? null : agent]
    .flatMap((part) => (part === null ? [] : plain(part)))
    .join(", ");
}

function commonPlace(alerts: readonly AlertFacts[]): string {
  const harnesses = new Set(alerts.map(({ subject }) => subject.harness));
  const [only] = harnesses;
  return harnesses.size === 1 && only != null ? plain(only) : "";
}

/** Something to tell about an alert. */
export interface AlertFact {
  name: string;
  text: string;
}

/** What a message says of one alert, the most important first. */
export function factsOf(alert: AlertFacts): AlertFact[] {
  const { subject, level, boundaries, why, fired_at, resolved_at, end_reason, acknowledged_by } = alert;
  const facts: AlertFact[] = [{ name: "Why", text: plain(why, 500) }];
  if (level !== null) facts.push({ name: "Level", text: levelText(level) });
  if (boundaries.length > 0) facts.push({ name: "Before", text: boundaries.map(boundaryText).join("; ") });
  const place = placeOf(alert);
  if (place !== "") facts.push({ name: subject.agent === null ? "Where" : "Agent", text: place });
  if (subject.model !== null) facts.push({ name: "Model", text: plain(subject.model) });
  facts.push({ name: "Since", text: timeText(fired_at) });
  if (resolved_at !== null) facts.push({ name: "Ended", text: endText(fired_at, resolved_at, end_reason) });
  if (acknowledged_by !== null) facts.push({ name: "Acknowledged by", text: plain(acknowledged_by) });
  return facts;
}

/** Such as `84,000 of 200,000 tokens (42%), ceiling 80,000 (105%)`. */
export function levelText({ context_tokens, window_tokens, line, line_tokens }: AlertLevel): string {
  const ofWindow = window_tokens
    ? ` of ${number(window_tokens)} tokens (${percent(context_tokens / window_tokens)})`
    : " tokens";
  const ofLine =
    line !== null && line_tokens
      ? `, ${plain(line)} ${number(line_tokens)} (${percent(context_tokens / line_tokens)})`
      : "";
  return `${number(context_tokens)}${ofWindow}${ofLine}`;
}

function boundaryText({ type, at, tokens_before, tokens_after }: AlertBoundary): string {
  const from = tokens_before === null ? "" : ` from ${number(tokens_before)}`;
  const to = tokens_after === null ? "" : ` to ${number(tokens_after)}`;
  return `${plain(type)}${from}${to} at ${timeText(at)}`;
}

/** Such as `2026-11-23 14:03:22 UTC`. */
export function timeText(at: string): string {
  return `${new Date(at).toISOString().slice(0, 19).replace("T", " ")} UTC`;
}

const END_TEXT: Record<AlertEndReason, string> = {
  below: "the condition is over",
  session_ended: "the session ended",
  data_returned: "data arrive again",
  window_ended: "the window ended",
  rule_changed: "the rule was changed",
  rule_deleted: "the rule was deleted",
  subject_deleted: "what it was about was deleted",
};

function endText(firedAt: string, resolvedAt: string, reason: AlertEndReason | null): string {
  const lasted = durationText(Math.max(0, Date.parse(resolvedAt) - Date.parse(firedAt)));
  return `after ${lasted}${reason === null ? "" : `: ${END_TEXT[reason]}`}`;
}

/** The page that shows what an alert is about. */
export const linkOf = ({ path }: Pick<AlertFacts, "path">, baseUrl: string): string =>
  new URL(path.startsWith("/") && !path.startsWith("//") ? path : "/", baseUrl).href;

/** All alerts have ended. */
export const isOver = ({ alerts }: AlertNotification): boolean =>
  alerts.every(({ resolved_at }) => resolved_at !== null);

/** That of the rule. All alerts of a group have the same. */
export const severityOf = ({ alerts }: AlertNotification): AlertSeverity =>
  alerts[0]?.rule.severity ?? "info";

/** `and 3 more`, or an empty text. */
export const moreText = (omitted: number): string => (omitted > 0 ? `and ${number(omitted)} more` : "");

/** One line on an alert in a message about several. */
export function alertLine(alert: AlertFacts): string {
  const place = placeOf(alert);
  const end =
    alert.resolved_at === null
      ? ""
      : ` (ended ${endText(alert.fired_at, alert.resolved_at, alert.end_reason)})`;
  return `${place === "" ? plain(alert.rule.name) : place}: ${plain(alert.why, 500)}${end}`;
}

/** A whole message as text: title, the rule's message, and each alert with its facts and link. */
export function textOf(notification: AlertNotification, baseUrl: string, most = 10): string {
  const { alerts, omitted } = notification;
  const message = messageOf(notification);
  const listed = alerts.slice(0, most);
  const parts = listed.map((alert) =>
    [
      ...(alerts.length > 1 ? [placeOf(alert) || plain(alert.rule.name)] : []),
      ...factsOf(alert).map(({ name, text }) => `${name}: ${text}`),
      linkOf(alert, baseUrl),
    ].join("\n"),
  );
  const more = moreText(omitted + alerts.length - listed.length);
  return [...(message === undefined ? [] : [message]), ...parts, ...(more === "" ? [] : [more])].join("\n\n");
}
