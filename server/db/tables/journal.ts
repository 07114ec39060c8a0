import { defineTable } from "./table.ts";

/** Accepted events that are not projected yet. A row is one group commit of one server. */
export const journal = defineTable("journal", ["id"], {
  /** UUIDv7: roughly in order of receipt. */
  id: "uuid",
  events: "int4",
  /** A packed `JournalEntry`. */
  body: "bytea",
});

/** Events that could not be projected, with the error, so that the rest can go on. */
export const rejectedEvents = defineTable("rejected_events", ["id"], {
  id: "uuid",
  receivedAt: "time",
  error: "text",
  event: "json",
});
