import { defineTable, type RowOf } from "./table.ts";

/**
 * Cuts in an agent's history: the state after all events at or before `endsAt`, and the summary of the events since the
 * cut before. A late event is folded again from the cut before it.
 */
export const segments = defineTable("segments", ["agent", "endsAt"], {
  agent: "int4",
  endsAt: "time",
  state: "text",
  summary: "text",
});

export type SegmentRow = RowOf<typeof segments>;
