import { GOOSE } from "@plimsoll/fold";
import { AgentHistory, historyReading, ownerByParents } from "../recordings/history.ts";
import {
  asCost,
  asCount,
  asNumber,
  asText,
  asTime,
  type JsonObject,
  parseObject,
} from "../recordings/json.ts";
import {
  type HarnessReader,
  type ReaderOptions,
  type Recordings,
  type SkipReason,
  Skips,
} from "../recordings/reader.ts";
import { recordedUsage } from "../recordings/recorded-usage.ts";

export const gooseRecordings: Recordings = {
  place: "~/.local/share/goose/sessions, or a sessions.db",
  files: [/^sessions\.db$/],
  recognizes: (json) =>
    json.table === "usage_ledger" || (json.table === "sessions" && asText(json.session_type) !== undefined),
  reader: gooseReader,
};

interface GooseSession {
  history: AgentHistory;
  parent: string | undefined;
}

/** How many calls of one second get times of their own. */
const MOST_IN_A_SECOND = 999;

/**
 * Reads the ledger of Goose's database, one row a line: one call each, with the cache inside its input. Its times are seconds, so
 * calls of one second follow each other by a millisecond. A row that was carried forward has the sum of calls from before the ledger.
 * Copied sessions begin with an empty ledger.
 * Source: aaif-goose/goose crates/goose/src/session/session_manager.rs @ 017176d, schema versions 15 to 17.
 */
function gooseReader(options: ReaderOptions): HarnessReader {
  const skips = new Skips();
  const sessions = new Map<string, GooseSession>();

  return { read: (text) => skips.count(readRow(text)), ...historyReading(histories, options, skips) };

  function readRow(text: string): SkipReason | undefined {
    const json = parseObject(text);
    if (json === undefined) return "unreadable";
    const id = asText(json.table === "sessions" ? json.id : json.session_id);
    if (id === undefined) return "no_session";
    const session = sessions.get(id) ?? { history: new AgentHistory(), parent: undefined };
    sessions.set(id, session);
    return json.table === "sessions" ? readSession(session, json) : readCall(session.history, json);
  }

  function histories() {
    const parentOf = (id: string) => sessions.get(id)?.parent;
    return [...sessions].map(([id, { history }]) => [history, ownerByParents(id, parentOf)] as const);
  }
}

function readSession(session: GooseSession, json: JsonObject): SkipReason | undefined {
  if (json.session_type === "sub_agent") session.parent = asText(json.parent_session_id) ?? session.parent;
  const at = asTime(json.created_ms);
  if (at === undefined) return "no_time";
  session.history.see(at);
  const title = asText(json.name);
  if (title !== undefined)
    session.history.addTitle(json.user_set_name === 1 ? "person" : "harness", at, title);
  return undefined;
}

function readCall(history: AgentHistory, json: JsonObject): SkipReason | undefined {
  if (json.cost_source === "carried_forward") return "aggregate";
  const row = asCount(json.id);
  const second = asTime((asNumber(json.created_timestamp) ?? Number.NaN) * 1_000);
  if (row === undefined || second === undefined) return "no_time";
  const at = second + Math.min(MOST_IN_A_SECOND, asCount(json.nth_of_second) ?? 0);
  const counted = recordedUsage(GOOSE, json);
  if (typeof counted === "string") return counted;
  const isCompaction = json.is_compaction === 1;
  if (isCompaction) history.addMark({ id: `compacted/${row}`, at, event: { type: "compacted" } });
  return history.addTurn({
    id: `ledger/${row}`,
    at,
    model: asText(json.model),
    ...counted,
    costUsd: asCost(json.cost),
    isCompaction,
  });
}
