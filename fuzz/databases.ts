import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createReader, type Format } from "@plimsoll/harnesses/recordings";
import { databaseOwner, databaseRows } from "../packages/cli/src/import/database.ts";
import { type DatabaseTable, writeDatabase } from "../packages/cli/src/testing/database-file.ts";
import { HOSTILE_VALUES } from "./hostile.ts";
import { jsonText } from "./json-text.ts";
import { mutateBytes } from "./mutate-bytes.ts";
import { mutateJson } from "./mutate-json.ts";
import type { Random } from "./random.ts";

type Table = readonly [name: string, row: Record<string, unknown>];
type Stored = DatabaseTable["rows"][number][number];

const AT = Date.UTC(2026, 10, 20, 10);
const NAMES = { session_id: "s", name: "Webhooks", parent_session_id: null };
const call = { input: 9_000, output: 1, cacheRead: 0, cacheWrite: 0 };
const said = (message: object, more: object) => ({
  type: "message",
  id: "a",
  timestamp: AT,
  message: { role: "assistant", model: "m", ...message },
  ...more,
});

/** Databases as the programs write them, with one row a table. */
const SEEDS: readonly (readonly Table[])[] = [
  [
    [
      "sessions",
      { id: "s", ...NAMES, user_set_name: 0, session_type: "user", created_at: "2026-11-20 10:00:00" },
    ],
    [
      "usage_ledger",
      {
        ...{ id: 1, session_id: "s", created_timestamp: AT / 1_000, model: "m", input_tokens: 9_000 },
        ...{ output_tokens: 5, total_tokens: 9_005, cache_read_tokens: 0, cache_write_tokens: null },
        ...{ cost: 0.1, cost_source: "estimated", is_compaction: 0 },
      },
    ],
  ],
  [
    ["session_nodes", { session_key: "k", current_session_id: "s", label: null, display_name: "Webhooks" }],
    [
      "session_windows",
      { session_id: "s", session_key: "k", spawned_by: null, display_name: null, created_at: AT },
    ],
    [
      "transcript_events",
      { session_id: "s", seq: 1, event_json: said({ api: "x", usage: call }, {}), event_zstd: null },
    ],
  ],
  [
    ["session", { id: "s", parent_id: null, title: "Webhooks", time_created: AT }],
    [
      "message",
      {
        ...{ id: "m", session_id: "s", time_created: AT },
        data: {
          role: "assistant",
          modelID: "m",
          tokens: { input: 9_000, output: 1 },
          time: { completed: AT },
        },
      },
    ],
    [
      "part",
      { id: "p", message_id: "m", session_id: "s", time_created: AT, data: { type: "tool", tool: "x" } },
    ],
  ],
  [
    [
      "threads",
      {
        ...{ id: "t", summary: "Webhooks", updated_at: "2026-11-20T10:00:00Z", parent_id: null },
        ...{ data_type: "json", data: { messages: [], request_token_usage: { p: { input_tokens: 9_000 } } } },
      },
    ],
  ],
];
const FORMATS: readonly Format[] = ["goose", "openclaw", "opencode", "zed"];

let folder: string | undefined;
/** A file that no other process of the fuzzer uses. */
function fileOf(name: string): string {
  if (folder === undefined) {
    const made = mkdtempSync(join(tmpdir(), "plimsoll-fuzz-database-"));
    process.once("exit", () => rmSync(made, { recursive: true, force: true }));
    folder = made;
  }
  return join(folder, name);
}

/** A database of a known program whose columns, values and bytes may be wrong. */
export function databaseBytes(random: Random): Buffer {
  const file = fileOf("made.db");
  const tables: DatabaseTable[] = [];
  for (const [name, row] of random.pick(SEEDS)) {
    if (random.oneIn(20)) continue;
    const columns = Object.keys(row).filter(() => !random.oneIn(30));
    if (columns.length === 0 || random.oneIn(20)) columns.push("payload");
    const rows = Array.from({ length: random.between(0, 3) }, () =>
      columns.map((column) => storedValue(random, row[column])),
    );
    tables.push({ name, columns, rows });
  }
  writeDatabase(file, tables);
  const bytes = readFileSync(file);
  return random.oneIn(3) ? mutateBytes(random, bytes) : bytes;
}

function storedValue(random: Random, value: unknown): Stored {
  const kind = random.below(12);
  const given = kind === 0 ? random.pick(HOSTILE_VALUES) : kind === 1 ? mutateJson(random, value) : value;
  if (kind === 2) return random.pick([String(value), 2n ** 62n, Buffer.from("broken"), -1, 1e300]);
  return typeof given === "string" || typeof given === "number" || given === null ? given : jsonText(given);
}

/** Reads a database as `plimsoll import` does. SQLite may refuse it. */
export async function readByImport(content: Buffer): Promise<object[]> {
  const file = fileOf("read.db");
  writeFileSync(file, content);
  try {
    const owner = await databaseOwner(file);
    const format = FORMATS.find((one) => one === owner);
    if (format === undefined) return [];
    const reader = createReader(format, { harness: "fuzz@host", titles: true });
    for await (const { lines } of databaseRows(file))
      for (const line of lines) reader.read(line, { path: file });
    return reader.take(true).events;
  } catch (error) {
    if (error instanceof Error && error.name === "SQLite3Error") return [];
    throw error;
  }
}
