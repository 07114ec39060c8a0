import { type ConditionKind, writtenDuration } from "../condition-kind.ts";

/** A harness instance that stopped reporting. */
export const harnessSilence: ConditionKind<"harness_silence"> = {
  title: "harness stopped reporting",
  phrase: ({ longer_than }) => `a harness reports nothing for ${writtenDuration(longer_than)}`,
  fields: { longer_than: { label: "Nothing for", kind: "duration" } },
  start: { type: "harness_silence", longer_than: "10m" },
  advice: "Check whether its process still runs and reaches Plimsoll.",
};
