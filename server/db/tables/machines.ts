import { defineTable } from "./table.ts";

/** Machines that events name. Times of receipt. */
export const machines = defineTable("machines", ["name"], {
  name: "text",
  firstReceivedAt: "time",
  lastReceivedAt: "time",
});

export const WIDEN_MACHINE = {
  firstReceivedAt: "LEAST(t.first_received_at, EXCLUDED.first_received_at)",
  lastReceivedAt: "GREATEST(t.last_received_at, EXCLUDED.last_received_at)",
} as const;
