import { countOf, pathsIn, readCounts, type UsageShape } from "@plimsoll/fold";
import type { Usage } from "@plimsoll/protocol/events";
import type { JsonObject } from "./json.ts";
import type { SkipReason } from "./reader.ts";

/** What a recording counts of one call. */
export interface RecordedUsage {
  usage: Usage;
  /** True if the counts contradict each other, so that they are no measurement. */
  estimated: boolean;
}

/** The counts of a call, or why it is no turn: it has no prompt, or zeros until its request ends. */
export function recordedUsage(shape: UsageShape, counts: JsonObject): RecordedUsage | SkipReason {
  const get = pathsIn(counts);
  const { usage, evidence } = readCounts(shape, get);
  if (usage.input_tokens === undefined)
    return shape.input.some((name) => countOf(get(name)) === 0) ? "zero_usage" : "no_usage";
  return { usage, estimated: evidence === "contradiction" };
}
