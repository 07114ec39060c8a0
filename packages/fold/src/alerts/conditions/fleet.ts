import { type ConditionKind, counted, shareText } from "../condition-kind.ts";

export const fleet: ConditionKind<"fleet"> = {
  title: "many agents at once",
  phrase({ load_at_least, agents, share }) {
    const who =
      agents === undefined
        ? `${shareText(share ?? 0)} of the live agents or more`
        : `more than ${counted(agents, "agent")}`;
    return `${who} at ${shareText(load_at_least)} of their line`;
  },
  fields: {
    load_at_least: { label: "Load at least", kind: "percent" },
    agents: { label: "More live agents than", kind: "number" },
    share: { label: "Or share of live agents, at least", kind: "percent" },
  },
  start: { type: "fleet", load_at_least: 0.9, share: 0.25 },
  advice: "Start no new work for now, or give the agents smaller tasks.",
};
