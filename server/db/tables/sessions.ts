import { COUNTED } from "./agents.ts";
import { defineTable, type RowOf } from "./table.ts";

/** Title, kind and end are columns too, which only `describeSessions` writes. */
export const sessions = defineTable("sessions", ["id"], {
  id: "uuid",
  version: "int4",
  harness: "text",
  name: "text",
  firstAt: "time",
  lastAt: "time",
  lastReceivedAt: "time",
  firstReceivedAt: "time",
  agents: "int4",
  ...COUNTED,
  /** The agent that stands for the session: `main`, else the first without a parent. */
  mainAgent: "uuid?",
  model: "text?",
  currentTokens: "int4?",
  currentWindow: "int4?",
  load: "float4?",
  peakTokens: "int4?",
  peakUtilization: "float4?",
  firstSlot: "int4",
  lastSlot: "int4",
  openSlot: "int4",
  peakBin: "int2",
  warned: "bool",
  machine: "text?",
  machineAt: "time?",
  repository: "text?",
  branch: "text?",
  repositoryAt: "time?",
  personId: "uuid?",
  personAt: "time?",
});

export type SessionRow = RowOf<typeof sessions>;
