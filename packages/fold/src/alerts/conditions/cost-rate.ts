import { money } from "@plimsoll/protocol/pure";
import type { ConditionKind } from "../condition-kind.ts";

const PERIOD = { hour: "an hour", day: "24 hours" } as const;

/** What calls cost in the latest hour, or in the latest 24 hours. */
export const costRate: ConditionKind<"cost_rate"> = {
  title: "cost of calls",
  phrase: ({ per, at_least_usd }) => `calls cost ${money(at_least_usd)} or more within ${PERIOD[per]}`,
  fields: {
    at_least_usd: { label: "At least", kind: "number", unit: "USD" },
    per: { label: "Within the latest", kind: "choice", options: ["hour", "day"] },
  },
  start: { type: "cost_rate", per: "day", at_least_usd: 50 },
  advice: "Open Insights to see which harness and model cost most.",
};
