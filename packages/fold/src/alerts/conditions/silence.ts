import { type ConditionKind, writtenDuration } from "../condition-kind.ts";

/** A live session without a turn. */
export const silence: ConditionKind<"silence"> = {
  title: "session without turns",
  phrase: ({ longer_than }) => `a live session has no turn for ${writtenDuration(longer_than)}`,
  fields: { longer_than: { label: "No turn for", kind: "duration" } },
  start: { type: "silence", longer_than: "15m" },
  advice: "Check whether its process still runs.",
};
