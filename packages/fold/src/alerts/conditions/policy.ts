import { type ConditionKind, writtenDuration } from "../condition-kind.ts";

export const policy: ConditionKind<"policy"> = {
  title: "policy of a harness",
  phrase({ state, within }) {
    if (state === "not_applied")
      return `a harness has not applied its policy within ${writtenDuration(within)}`;
    return state === "rejected" ? "a harness rejects its policy" : "a harness drifts from its policy";
  },
  fields: {
    state: { label: "State", kind: "choice", options: ["rejected", "drifted", "not_applied"] },
    within: {
      label: "Not applied within",
      kind: "duration",
      shownIf: { field: "state", is: "not_applied" },
    },
  },
  start: { type: "policy", state: "rejected", within: "15m" },
  advice: "Open Policies to see why, and change the policy or the harness.",
};
