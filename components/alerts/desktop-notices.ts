import type { AlertView } from "@plimsoll/protocol/api";
import { plural } from "../format.ts";
import { subjectText } from "./alert-text.ts";

/** More than this at once are shown as one. */
const MOST_AT_ONCE = 3;

export interface DesktopNotice {
  title: string;
  body: string;
  /** Notices with one tag replace each other. */
  tag: string;
  /** Path that a click opens. */
  path: string;
}

/**
 * The desktop notifications for a change of the open alerts.
 * @param known ids of the alerts that were open before; undefined when the page has just been opened, which shows none
 */
export function desktopNotices(
  known: ReadonlySet<string> | undefined,
  open: readonly AlertView[],
): DesktopNotice[] {
  if (known === undefined) return [];
  const begun = open.filter(({ id, muted, acknowledged_by }) => {
    return !known.has(id) && muted === null && acknowledged_by === null;
  });
  if (begun.length > MOST_AT_ONCE) {
    const rules = [...new Set(begun.map(({ rule }) => rule.name))];
    const body =
      rules.length > 3 ? `${rules.slice(0, 3).join(", ")} and ${rules.length - 3} more` : rules.join(", ");
    return [
      {
        title: `${plural(begun.length, "alert fires", "alerts fire")}`,
        body,
        tag: begun[0]!.id,
        path: "/alerts",
      },
    ];
  }
  return begun.map((alert) => ({
    title: `${alert.rule.name}: ${subjectText(alert)}`,
    body: alert.why,
    tag: alert.id,
    path: alert.path,
  }));
}
