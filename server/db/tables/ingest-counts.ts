import { defineTable } from "./table.ts";

/** How many events had an outcome, by day of receipt. */
export const ingestCounts = defineTable("ingest_counts", ["day", "outcome"], {
  /** Start of the day, UTC. */
  day: "time",
  outcome: "text",
  count: "int8",
});

export const ADD_COUNT = { count: "t.count + EXCLUDED.count" } as const;

/**
 * What became of an accepted event. `turn_merged` is a repeat of a turn that added something, `turn_repeated` a turn whose call
 * another source reports under another id, which may be found later. `tool_result` is the end of a tool call, `quota` a reading of a
 * quota, also a repeated one.
 */
export const OUTCOMES = [
  "turn",
  "turn_merged",
  "turn_repeated",
  "tool_result",
  "mark",
  "quota",
  "duplicate",
] as const;
export type Outcome = (typeof OUTCOMES)[number];
