import { defineTable, type RowOf } from "./table.ts";

/** Windows that are over. The window an agent is in is part of the agent's state. */
export const windows = defineTable("windows", ["agentId", "index"], {
  agentId: "uuid",
  index: "int4",
  firstAt: "time",
  lastAt: "time",
  turns: "int4",
  firstTokens: "int4?",
  lastTokens: "int4?",
  peakTokens: "int4?",
  peakUtilization: "float4?",
  windowTokens: "int4?",
});

export type WindowRow = RowOf<typeof windows>;
