import { asArray, asObject, asText, parseObject } from "@plimsoll/harnesses/recordings";
import { decompress } from "fzstd";
import type { Database } from "node-sqlite3-wasm";

type Row = Record<string, unknown>;

/** What tells the database of a program from others, and the rows that its reader needs. */
interface DatabaseFormat {
  tables: Record<string, readonly string[]>;
  rows: (database: Database) => string[];
}

/** Programs by the tables of their databases and some columns. The first that fits wins. */
const FORMATS = {
  opencode: { tables: { message: ["session_id", "data"], session: ["parent_id"] }, rows: opencodeRows },
  zed: { tables: { threads: ["data_type", "data", "updated_at"] }, rows: zedRows },
  goose: { tables: { usage_ledger: ["session_id", "is_compaction"] }, rows: gooseRows },
  openclaw: {
    tables: { transcript_events: ["session_id", "event_json"], session_windows: ["spawned_by"] },
    rows: openclawRows,
  },
  "goose-totals": { tables: { sessions: ["accumulated_total_tokens"] }, rows: () => [] },
  crush: { tables: { sessions: ["prompt_tokens", "summary_message_id"] }, rows: () => [] },
} satisfies Record<string, DatabaseFormat>;

export type DatabaseOwner = keyof typeof FORMATS;

const OWNERS = Object.entries(FORMATS) as [DatabaseOwner, DatabaseFormat][];

export function ownerOf(database: Database): DatabaseOwner | undefined {
  return OWNERS.find(([, { tables }]) =>
    Object.entries(tables).every(([table, columns]) => hasColumns(database, table, columns)),
  )?.[0];
}

/** The rows that the reader of a program needs, as JSON objects with the name of their `table`. */
export const rowsFor = (owner: DatabaseOwner, database: Database): string[] => FORMATS[owner].rows(database);

function hasColumns(database: Database, table: string, columns: readonly string[]): boolean {
  const found = new Set(
    database.all("SELECT name FROM pragma_table_info(?)", [table]).map(({ name }) => name),
  );
  return columns.every((column) => found.has(column));
}

/** Selects some columns of a table. What another version of the program does not have is NULL, or no rows. */
function fieldsOf(database: Database, table: string, columns: readonly string[]): string {
  const fields = columns.map((column) =>
    hasColumns(database, table, [column]) ? column : `NULL AS ${column}`,
  );
  const isTable = columns.some((column) => hasColumns(database, table, [column]));
  return `SELECT ${fields.join(", ")} ${isTable ? `FROM ${table}` : "WHERE false"}`;
}

const rowText = (table: string, row: object): string => JSON.stringify({ table, ...row }, withoutBigInts);
const rowsOf = (database: Database, table: string, sql: string): string[] =>
  database.all(sql).map((row) => rowText(table, row));

/** SQLite has larger integers than JSON. */
const withoutBigInts = (_key: string, value: unknown) => (typeof value === "bigint" ? Number(value) : value);

/** Characters that are read of a text that may be a prompt, and of the result of a tool. */
const LONGEST_TEXT = 20_001;
const LONGEST_RESULT = 2_048;

function opencodeRows(database: Database): string[] {
  return [
    ...rowsOf(database, "session", "SELECT id, parent_id, title, time_created FROM session"),
    // The data of a user's message may contain whole diffs, and counts are only in the others.
    ...rowsOf(
      database,
      "message",
      `SELECT id, session_id, time_created, CASE WHEN data ->> '$.role' = 'assistant' THEN data
         ELSE json_object('role', data ->> '$.role', 'time', json(data -> '$.time')) END AS data
       FROM message WHERE json_valid(data)`,
    ),
    ...rowsOf(
      database,
      "part",
      `SELECT id, message_id, session_id, time_created, data FROM part
       WHERE message_id IN (SELECT data ->> '$.parentID' FROM message WHERE json_valid(data) AND data ->> '$.summary' = 1)
         AND json_valid(data) AND data ->> '$.type' = 'compaction'`,
    ),
    // Texts and results may be whole files, which are measured by their beginnings.
    ...rowsOf(
      database,
      "part",
      `SELECT id, message_id, session_id, time_created, CASE data ->> '$.type' WHEN 'tool' THEN json_object(
         'type', 'tool', 'tool', data ->> '$.tool', 'callID', data ->> '$.callID', 'state', json_object(
           'status', data ->> '$.state.status', 'input', json(data -> '$.state.input'),
           'error', substr(data ->> '$.state.error', 1, 200),
           'output', substr(data ->> '$.state.output', 1, ${LONGEST_RESULT}), 'length', length(data ->> '$.state.output'),
           'metadata', json_object('exit', data ->> '$.state.metadata.exit'),
           'time', json_object(
             'start', data ->> '$.state.time.start', 'compacted', data ->> '$.state.time.compacted'
           )
         )
       ) ELSE json_object(
         'type', data ->> '$.type', 'text', substr(data ->> '$.text', 1, ${LONGEST_TEXT}), 'length', length(data ->> '$.text'),
         'synthetic', json(data -> '$.synthetic'), 'ignored', json(data -> '$.ignored')
       ) END AS data FROM part WHERE json_valid(data) AND data ->> '$.type' IN ('text', 'reasoning', 'tool')`,
    ),
  ];
}

function gooseRows(database: Database): string[] {
  const session = fieldsOf(database, "sessions", [
    ...["id", "name", "user_set_name", "session_type", "parent_session_id", "created_at"],
  ]);
  const call = fieldsOf(database, "usage_ledger", [
    ...["id", "session_id", "created_timestamp", "model", "input_tokens", "output_tokens", "total_tokens"],
    ...["cache_read_tokens", "cache_write_tokens", "cost", "cost_source", "is_compaction"],
  ]);
  return [
    ...rowsOf(
      database,
      "sessions",
      `SELECT *, CAST(strftime('%s', created_at) AS INTEGER) * 1000 AS created_ms FROM (${session})`,
    ),
    ...rowsOf(
      database,
      "usage_ledger",
      `SELECT *, row_number() OVER (PARTITION BY session_id, created_timestamp ORDER BY id) - 1 AS nth_of_second
       FROM (${call})`,
    ),
  ];
}

/** Results may be whole files, which are measured by their beginnings. Large entries are compressed. */
function openclawRows(database: Database): string[] {
  const entry = fieldsOf(database, "transcript_events", ["session_id", "seq", "event_json", "event_zstd"]);
  const node = fieldsOf(database, "session_nodes", [
    ...["session_key", "current_session_id", "label", "display_name"],
  ]);
  const window = fieldsOf(database, "session_windows", [
    ...["session_id", "session_key", "spawned_by", "display_name", "created_at"],
  ]);
  const events = database
    .all(
      `SELECT session_id, seq, event_zstd,
         CASE WHEN json_valid(event_json) AND event_json ->> '$.message.role' = 'toolResult'
           THEN json_set(
             json_remove(event_json, '$.message.details'),
             '$.message.content', substr(event_json ->> '$.message.content[0].text', 1, ${LONGEST_RESULT}),
             '$.message.length', length(event_json ->> '$.message.content[0].text')
           ) ELSE event_json END AS event
       FROM (${entry})`,
    )
    .map(({ event_zstd, event, ...row }: Row) =>
      rowText("transcript_events", { ...row, event: event ?? blobText("zstd", event_zstd) }),
    );
  return [
    ...rowsOf(
      database,
      "session_windows",
      `SELECT w.session_id, w.created_at, n.label, coalesce(w.display_name, n.display_name) AS display_name,
         p.current_session_id AS spawned_by_session
       FROM (${window}) w LEFT JOIN (${node}) n ON n.session_key = w.session_key
       LEFT JOIN (${node}) p ON p.session_key = w.spawned_by`,
    ),
    ...events,
  ];
}

function zedRows(database: Database): string[] {
  const columns = ["id", "summary", "updated_at", "parent_id", "data_type", "data"];
  return database
    .all(fieldsOf(database, "threads", columns))
    .map(({ data_type, data, ...row }: Row) =>
      rowText("threads", { ...row, thread: zedThread(data_type, data) }),
    );
}

/** The counts of a thread, and the ids of its prompts in order. */
function zedThread(type: unknown, data: unknown): Row | undefined {
  const text = blobText(type, data);
  const thread = text === undefined ? undefined : parseObject(text);
  if (thread === undefined) return undefined;
  const prompts = asArray(thread.messages).flatMap((message) => {
    const id = asText(asObject(asObject(message)?.User)?.id);
    return id === undefined ? [] : [id];
  });
  const { model, request_token_usage, subagent_context } = thread;
  return { model, request_token_usage, subagent_context, prompts };
}

function blobText(type: unknown, data: unknown): string | undefined {
  if (typeof data === "string") return data;
  if (!(data instanceof Uint8Array)) return undefined;
  try {
    return Buffer.from(type === "zstd" ? decompress(data) : data).toString("utf8");
  } catch {
    return undefined;
  }
}
