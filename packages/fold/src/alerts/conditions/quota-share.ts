import { type ConditionKind, shareText } from "../condition-kind.ts";

/** How much of a limit of an account is used. */
export const quotaShare: ConditionKind<"quota_share"> = {
  title: "quota used",
  phrase: ({ at_least }) => `${shareText(at_least)} or more of a quota is used`,
  fields: { at_least: { label: "Used, at least", kind: "percent" } },
  start: { type: "quota_share", at_least: 0.9 },
  advice: "Let work that can wait wait for the reset, or use another account or model.",
};
