import { defineTable } from "./table.ts";

/** How many events had an outcome, by day of receipt. */
export const ingestCounts = defineTable("ingest_counts", ["day", "outcome"], {
  /** Start of the day, UTC. */
  day: "time",
  outcome: "text",
  count: "int8",
});

export const ADD_COUNT = { count: "t.count + EXCLUDED.count" } as const;
