import { type ConditionKind, counted } from "../condition-kind.ts";

/** A limit of an account is used up soon at the present pace, before its reset. */
export const quotaForecast: ConditionKind<"quota_forecast"> = {
  title: "quota ends soon",
  phrase: ({ minutes_below }) =>
    `a quota is used up within ${counted(minutes_below, "minute")} at the present pace, or already`,
  fields: { minutes_below: { label: "Used up within", kind: "number", unit: "minutes" } },
  start: { type: "quota_forecast", minutes_below: 60 },
  advice: "Pause agents that can wait, or use another account or model until the reset.",
};
