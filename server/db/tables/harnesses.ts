import { defineTable } from "./table.ts";

/** Name, version, capabilities and status are columns too, which only `describeHarnesses` writes. */
export const harnesses = defineTable("harnesses", ["id"], {
  id: "uuid",
  instance: "text",
  firstAt: "time",
  lastAt: "time",
  lastReceivedAt: "time",
  /** When the row was made, by the time of receipt. */
  addedAt: "time",
});

export const WIDEN_HARNESS = {
  firstAt: "LEAST(t.first_at, EXCLUDED.first_at)",
  lastAt: "GREATEST(t.last_at, EXCLUDED.last_at)",
  lastReceivedAt: "GREATEST(t.last_received_at, EXCLUDED.last_received_at)",
  addedAt: "t.added_at",
} as const;
