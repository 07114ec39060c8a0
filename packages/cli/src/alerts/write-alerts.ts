import { matcherText } from "@plimsoll/protocol/alerts";
import type { AlertPage, AlertRuleView, AlertSilenceView } from "@plimsoll/protocol/api";
import { ago, ahead } from "../number-format.ts";
import { writeTable } from "../table.ts";
import { printable, type Terminal } from "../terminal.ts";

/** Writes alerts as a table. `now` in epoch ms. */
export function writeAlerts(
  out: Terminal,
  { items, firing }: AlertPage,
  { ended, now }: { ended: boolean; now: number },
): void {
  if (items.length === 0) {
    out.write(ended ? "No alert has ended yet.\n" : "No alert fires.\n");
    return;
  }
  const since = (time: string) => ago(now - Date.parse(time));
  const rows = items.map((alert) => ({
    cells: [
      alert.id,
      alert.rule.severity,
      ended ? (alert.end_reason ?? "").replaceAll("_", " ") : stateOf(alert),
      since(ended ? (alert.resolved_at ?? alert.fired_at) : alert.fired_at),
      alert.rule.name,
      [alert.subject.harness, alert.subject.session, alert.subject.agent].filter(Boolean).join(" "),
      alert.why,
    ],
    warn: alert.rule.severity === "critical",
  }));
  writeTable(
    out,
    ["id", "severity", ended ? "ended by" : "state", ended ? "ended" : "fired", "rule", "about", "why"],
    rows,
  );
  if (firing > items.length && !ended) out.write(`${firing - items.length} more fire.\n`);
}

function stateOf({ phase, muted, acknowledged_by }: AlertPage["items"][number]): string {
  if (muted !== null) return muted;
  if (acknowledged_by !== null) return `acknowledged by ${acknowledged_by}`;
  return phase === "no_data" ? "no data" : phase;
}

/** Writes rules as a table. `now` in epoch ms. */
export function writeRules(out: Terminal, rules: readonly AlertRuleView[], now: number): void {
  if (rules.length === 0) {
    out.write("There are no alert rules. Begin with: npx plimsoll alerts rules preset past_line\n");
    return;
  }
  const rows = rules.map(({ id, rule, enabled, firing, pending, updated_at }) => ({
    cells: [
      id,
      rule.name,
      rule.condition.type,
      rule.severity,
      enabled ? (firing > 0 ? `${firing} firing` : pending > 0 ? `${pending} pending` : "on") : "off",
      ago(now - Date.parse(updated_at)),
    ],
    warn: firing > 0,
  }));
  writeTable(out, ["id", "name", "condition", "severity", "state", "changed"], rows);
}

/** Writes silences as a table. `now` in epoch ms. */
export function writeSilences(out: Terminal, silences: readonly AlertSilenceView[], now: number): void {
  if (silences.length === 0) {
    out.write(
      'There are no silences. Add one with: npx plimsoll alerts silence harness=NAME --for 2h -m "why"\n',
    );
    return;
  }
  const rows = silences.map(({ id, state, matchers, comment, ends_at }) => {
    const left = Date.parse(ends_at) - now;
    return {
      cells: [
        id,
        state,
        left > 0 ? ahead(left) : ago(-left),
        matchers.map((matcher) => printable(matcherText(matcher))).join(" "),
        comment,
      ],
    };
  });
  writeTable(out, ["id", "state", "ends", "matchers", "comment"], rows);
}
