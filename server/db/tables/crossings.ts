import type { Crossing } from "@plimsoll/fold";
import { crossingOriginCode, crossingOriginOf } from "./codes.ts";
import { defineTable, type RowOf } from "./table.ts";

export const crossings = defineTable("crossings", ["agentId", "id"], {
  agentId: "uuid",
  id: "text",
  sessionId: "uuid",
  threshold: "text",
  up: "bool",
  origin: "int2",
  at: "time",
  turnKey: "decimal?",
  thresholdTokens: "int4",
  contextTokens: "int4",
  windowTokens: "int4?",
});

export type CrossingRow = RowOf<typeof crossings>;

export function crossingRow(
  crossing: Crossing,
  place: Pick<CrossingRow, "agentId" | "sessionId">,
): CrossingRow {
  return { ...crossing, ...place, origin: crossingOriginCode(crossing.origin) };
}

export function crossingOfRow({ agentId: _agent, sessionId: _session, ...row }: CrossingRow): Crossing {
  return { ...row, origin: crossingOriginOf(row.origin) };
}
