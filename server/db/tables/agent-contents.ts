import { defineTable, type RowOf } from "./table.ts";

/** What the window of each agent holds at the latest turn that tells it. */
export const agentContents = defineTable("agent_contents", ["agentId"], {
  agentId: "uuid",
  at: "time",
  /** Context tokens of the turn. */
  tokens: "int4",
  /** JSON of `TurnContents`: a text, because two of these compare alike here and in SQL. */
  contents: "text",
  /** Calls by tool and day, by `packCalled`. */
  called: "bytea",
});

export type AgentContentsRow = RowOf<typeof agentContents>;

const ORDER = (row: string) => `(${row}.at, ${row}.tokens, ${row}.contents COLLATE "C", ${row}.called)`;
const IS_LATER = `${ORDER("EXCLUDED")} > ${ORDER("t")}`;
const later = (column: string) => `CASE WHEN ${IS_LATER} THEN EXCLUDED.${column} ELSE t.${column} END`;

/** The later turn counts; of two reports of one time always the same, whatever came first. As `laterContents`. */
export const KEEP_LATEST = {
  ...{ at: later("at"), tokens: later("tokens") },
  ...{ contents: later("contents"), called: later("called") },
};

export function laterContents(a: AgentContentsRow, b: AgentContentsRow): AgentContentsRow {
  const order =
    a.at - b.at ||
    a.tokens - b.tokens ||
    Buffer.compare(Buffer.from(a.contents), Buffer.from(b.contents)) ||
    Buffer.compare(a.called, b.called);
  return order >= 0 ? a : b;
}
