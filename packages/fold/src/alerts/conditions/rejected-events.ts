import { exact } from "@plimsoll/protocol/pure";
import type { ConditionKind } from "../condition-kind.ts";

export const rejectedEvents: ConditionKind<"rejected_events"> = {
  title: "rejected events",
  phrase: ({ per_hour }) => `more than ${exact(per_hour)} rejected events an hour`,
  fields: { per_hour: { label: "More per hour than", kind: "number", unit: "events" } },
  start: { type: "rejected_events", per_hour: 100 },
  advice: "Open Setup to see which events are refused, and why.",
};
