import { quotaName } from "@plimsoll/fold";
import type { QuotaView } from "@plimsoll/protocol/api";
import { QUOTA_ROWS, type QuotaRow, quotaParameters, quotaViews } from "../../read/quota.ts";
import { timeText } from "../formats/text.ts";
import type { JudgedSubject, JudgeInput } from "../judged-subject.ts";
import type { RuleOf } from "../rule-book.ts";

/** How much of a limit of an account is used. */
export const judgeQuotaShare = (
  input: JudgeInput,
  rules: readonly RuleOf<"quota_share">[],
): Promise<JudgedSubject[]> =>
  judgeQuotas(input, rules, ({ at_least }, { used_percent }) => used_percent / 100 >= at_least);

/** A limit of an account that is used up, or soon. */
export const judgeQuotaForecast = (
  input: JudgeInput,
  rules: readonly RuleOf<"quota_forecast">[],
): Promise<JudgedSubject[]> =>
  judgeQuotas(input, rules, ({ minutes_below }, { forecast: { reason, ends_at } }) => {
    if (reason === "used_up") return true;
    return ends_at !== null && Date.parse(ends_at) - input.now <= minutes_below * 60_000;
  });

/** Each quota has an alert of its own. It ends with the reset, or when the quota is no longer listed. */
async function judgeQuotas<Type extends "quota_share" | "quota_forecast">(
  { sql, project, open, now }: JudgeInput,
  rules: readonly RuleOf<Type>[],
  holds: (condition: RuleOf<Type>["rule"]["condition"], quota: QuotaView) => boolean,
): Promise<JudgedSubject[]> {
  if (rules.length === 0) return [];
  const rows = await sql.query<QuotaRow>(QUOTA_ROWS, ...quotaParameters(project.id, now));
  const quotas = quotaViews(rows, now).filter(({ forecast }) => forecast.reason !== "reset");
  return rules.flatMap((rule) => {
    const met = quotas
      .filter((quota) => holds(rule.rule.condition, quota))
      .map((quota): JudgedSubject => {
        const report = () => ({ why: whyText(quota), level: null, boundaries: [], path: "/" });
        const sighting = { verdict: "met" as const, at: now };
        return { rule, subject: subjectOf(quota), place: {}, facts: undefined, sighting, report };
      });
    const subjects = new Set(met.map(({ subject }) => subject));
    const cleared = [...open.byKey.values()]
      .filter(({ ruleId, subject }) => ruleId === rule.id && !subjects.has(subject))
      .map(({ subject }): JudgedSubject => {
        const report = () => ({ why: "", level: null, boundaries: [], path: "/" });
        const sighting = { verdict: "clear" as const, reason: "below" as const };
        return { rule, subject, place: {}, facts: undefined, sighting, report };
      });
    return [...met, ...cleared];
  });
}

const subjectOf = ({ provider, limit, window_minutes, owner }: QuotaView): string =>
  `quota/${[provider, limit, window_minutes ?? "", owner.kind, owner.id].map((part) => encodeURIComponent(part)).join("/")}`;

function whyText(quota: QuotaView): string {
  const { used_percent, resets_at, forecast } = quota;
  const end =
    forecast.ends_at === null ? "" : `, and is used up at ${timeText(forecast.ends_at)} at the present pace`;
  return `${used_percent}% of the ${quotaName(quota)} quota${ownerText(quota)} is used${end}. It is reset at ${timeText(resets_at)}`;
}

/** A message names no person: it may leave the server. */
const ownerText = ({ owner: { kind, id } }: QuotaView): string => {
  if (kind === "machine") return ` of ${id}`;
  return kind === "account" ? ` of account ${id.slice(0, 6)}` : "";
};
