import { type ConditionKind, writtenDuration } from "../condition-kind.ts";

/** Accepted events that wait for the projection. */
export const backlog: ConditionKind<"backlog"> = {
  title: "events waiting",
  phrase: ({ older_than }) => `accepted events wait for more than ${writtenDuration(older_than)}`,
  fields: { older_than: { label: "Waiting longer than", kind: "duration" } },
  start: { type: "backlog", older_than: "1m" },
  advice: "Run npx plimsoll doctor where the server runs.",
};
