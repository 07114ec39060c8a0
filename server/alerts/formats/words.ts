import { counted } from "@plimsoll/fold";
import {
  type AlertBoundary,
  type AlertFacts,
  type AlertLevel,
  type AlertNotification,
  type AlertSeverity,
  alertEndText,
  boundaryText,
} from "@plimsoll/protocol/alerts";
import { compact, exact, loadPercent } from "@plimsoll/protocol/pure";
import { durationText } from "../describe-alert.ts";
import { LONGEST_LINK, type MessagePart, partsText, plain, plainLines } from "./text.ts";

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
  const name = ruleName(first);
  const rule = all === 1 ? name : `${name}, ${counted(all, "alert")}`;
  return `${PREFIX[kind]}${rule}${place === "" ? "" : ` at ${place}`}`;
}

/** The title, and why it fired if there is one alert: for receivers that show a single line. */
export function summaryOf(notification: AlertNotification): string {
  const { alerts, omitted } = notification;
  const [first] = alerts;
  if (first === undefined || alerts.length + omitted > 1) return titleOf(notification);
  return `${titleOf(notification)}: ${plain(first.why, 500)}`;
}

/** What the author of the rule says; null without a message. */
export const messageOf = ({ message }: AlertNotification): string | null =>
  message === null ? null : plainLines(message) || null;

/** The harness, the session and the agent, as far as an alert has them. */
export function placeOf({ subject: { harness, session, agent } }: AlertFacts): string {
  return [harness, session, agent === session ? null : agent]
    .map((part) => (part === null ? "" : plain(part)))
    .filter((part) => part !== "")
    .join(", ");
}

/** A name may have nothing that shows. */
const ruleName = ({ rule }: AlertFacts): string => plain(rule.name) || "Alert";

/** What an alert of several is called. */
export const nameOf = (alert: AlertFacts): string => placeOf(alert) || ruleName(alert);

function commonPlace(alerts: readonly AlertFacts[]): string {
  const harnesses = new Set(alerts.map(({ subject }) => subject.harness));
  const [only] = harnesses;
  return harnesses.size === 1 && only != null ? plain(only) : "";
}

/** Something to tell about an alert. */
export interface AlertFact {
  name: string;
  parts: MessagePart[];
}

/** What a message says of one alert, the most important first. At most nine facts, none empty. */
export function factsOf(alert: AlertFacts): AlertFact[] {
  const { subject, level, boundaries, why, advice, fired_at, acknowledged_by } = alert;
  const facts: AlertFact[] = [
    { name: "Why", parts: [plain(why, 500)] },
    { name: "Next", parts: [plain(advice ?? "")] },
    { name: "Level", parts: level === null ? [] : [levelText(level)] },
    { name: "Before", parts: boundaries.flatMap(boundaryParts) },
    { name: subject.agent === null ? "Where" : "Agent", parts: [placeOf(alert)] },
    { name: "Model", parts: [plain(subject.model ?? "")] },
    { name: "Since", parts: [{ at: fired_at }] },
    { name: "Ended", parts: endParts(alert) },
    { name: "Acknowledged by", parts: [plain(acknowledged_by ?? "")] },
  ];
  return facts.filter(({ parts }) => partsText(parts) !== "");
}

/** Such as `84k of 200k tokens (42%), ceiling 80k (105%)`. */
export function levelText({ context_tokens, window_tokens, line, line_tokens }: AlertLevel): string {
  const ofWindow = window_tokens
    ? ` of ${compact(window_tokens)} tokens (${loadPercent(context_tokens / window_tokens)})`
    : " tokens";
  const ofLine =
    line !== null && line_tokens
      ? `, ${plain(line) || "line"} ${compact(line_tokens)} (${loadPercent(context_tokens / line_tokens)})`
      : "";
  return `${compact(context_tokens)}${ofWindow}${ofLine}`;
}

const boundaryParts = (boundary: AlertBoundary, index: number): MessagePart[] => [
  `${index === 0 ? "" : "; "}${plain(boundaryText(boundary), 100) || "boundary"} at `,
  { at: boundary.at },
];

/** Empty while the alert fires. */
function endParts(alert: AlertFacts): MessagePart[] {
  const { fired_at, resolved_at } = alert;
  if (resolved_at === null) return [];
  const lasted = durationText(Math.max(0, Date.parse(resolved_at) - Date.parse(fired_at)));
  const why = alertEndText(alert);
  const reason = why === null ? "" : `: ${plain(why, 100)}`;
  return [{ at: resolved_at }, `, after ${lasted}${reason}`];
}

/** The page that shows the subject of an alert; the dashboard's own address if a receiver would refuse the link. */
export function linkOf({ path }: Pick<AlertFacts, "path">, baseUrl: string, most = LONGEST_LINK): string {
  const home = new URL(baseUrl);
  if (!URL.canParse(path, home)) return home.href;
  const { origin, href } = new URL(path, home);
  // Alertmanager refuses a whole message for a percent sign that begins no escape.
  const isAccepted = origin === home.origin && href.length <= most && !/%(?![0-9a-f]{2})/i.test(href);
  return isAccepted ? href : home.href;
}

/** All alerts have ended. */
export const isOver = ({ alerts }: AlertNotification): boolean =>
  alerts.every(({ resolved_at }) => resolved_at !== null);

/** That of the rule. All alerts of a group have the same. */
export const severityOf = ({ alerts }: AlertNotification): AlertSeverity =>
  alerts[0]?.rule.severity ?? "info";

/** `and 3 more`, or an empty text. */
export const moreText = (left: number): string => (left > 0 ? `and ${exact(left)} more` : "");

/** One line on an alert in a message about several. */
export function alertParts(alert: AlertFacts): MessagePart[] {
  const ended = endParts(alert);
  const said = [plain(alert.why, 300), ...(alert.level === null ? [] : [levelText(alert.level)])];
  const text = `${nameOf(alert)}: ${said.filter((part) => part !== "").join(", ")}`;
  return ended.length === 0 ? [text] : [`${text} (ended `, ...ended, ")"];
}

/** A whole message as text: the rule's message, and each listed alert with its facts and link. */
export function textOf(
  notification: AlertNotification,
  baseUrl: string,
  { listed, more }: ListedAlerts,
): string {
  const parts = listed.map((alert) =>
    [
      ...(isSingle(notification) ? [] : [nameOf(alert)]),
      ...factsOf(alert).map(({ name, parts: said }) => `${name}: ${partsText(said)}`),
      linkOf(alert, baseUrl),
    ].join("\n"),
  );
  return [messageOf(notification), ...parts, more].filter(Boolean).join("\n\n");
}

/** Whether a notification is about one alert. */
export const isSingle = ({ alerts, omitted }: AlertNotification): boolean => alerts.length + omitted === 1;

/** The alerts that a message lists, and a text on the others; empty if there are none. */
export interface ListedAlerts {
  listed: readonly AlertFacts[];
  more: string;
}

/**
 * Lists as many alerts as a receiver accepts, at least one.
 * @param most alerts
 * @param build makes a message
 * @param fits whether the receiver accepts it
 */
export function fitAlerts<T>(
  { alerts, omitted }: AlertNotification,
  most: number,
  build: (list: ListedAlerts) => T,
  fits: (message: T) => boolean = () => true,
): T {
  for (let count = Math.min(most, alerts.length); ; count -= 1) {
    const more = moreText(omitted + alerts.length - count);
    const message = build({ listed: alerts.slice(0, count), more });
    if (count <= 1 || fits(message)) return message;
  }
}
