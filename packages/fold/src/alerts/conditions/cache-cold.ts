import { exact } from "@plimsoll/protocol/pure";
import { type ConditionKind, counted } from "../condition-kind.ts";

/** The provider's cache of an agent with a high level goes cold, or is cold. */
export const cacheCold: ConditionKind<"cache_cold"> = {
  title: "cache cold",
  phrase({ at_least, minutes_before }) {
    const when = minutes_before === 0 ? "is cold" : `is cold within ${counted(minutes_before, "minute")}`;
    return `the cache of an agent ${when}, with ${exact(at_least)} context tokens or more`;
  },
  fields: {
    at_least: { label: "Context tokens, at least", kind: "number" },
    minutes_before: { label: "Fires earlier by", kind: "number", unit: "minutes" },
  },
  start: { type: "cache_cold", at_least: 100_000, minutes_before: 0 },
  advice: "Compact once the cache is cold: the next call sends the whole prompt again anyway.",
};
