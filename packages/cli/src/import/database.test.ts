import { copyFile, mkdtemp, readdir, readFile, rm, stat, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { estimateTokens, tokenizerScale } from "@plimsoll/guard/measure";
import { createReader, type Format } from "@plimsoll/harnesses/recordings";
import { Database } from "node-sqlite3-wasm";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { foldEvents, levels } from "../../../harnesses/src/testing/fold.ts";
import { opencodeMessage } from "../../../harnesses/src/testing/recordings.ts";
import { databaseOwner } from "./database.ts";
import { planImport, WHY_TEXT } from "./plan.ts";
import { sourceLines } from "./source.ts";

let folder: string;
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), "plimsoll-db-"));
});
afterEach(() => rm(folder, { recursive: true, force: true }));

const OPENCODE = `
  CREATE TABLE session (id TEXT PRIMARY KEY, parent_id TEXT, title TEXT NOT NULL, time_created INTEGER NOT NULL);
  CREATE TABLE message (id TEXT PRIMARY KEY, session_id TEXT, time_created INTEGER, data TEXT NOT NULL);
  CREATE TABLE part (id TEXT PRIMARY KEY, message_id TEXT, session_id TEXT, time_created INTEGER, data TEXT NOT NULL);
  INSERT INTO session VALUES ('ses_1', NULL, 'Webhooks', 1795168800000);`;
const ZED = `CREATE TABLE threads (id TEXT PRIMARY KEY, summary TEXT NOT NULL, updated_at TEXT NOT NULL,
  data_type TEXT NOT NULL, data BLOB NOT NULL)`;

const path = () => join(folder, "opencode.db");
const create = (file: string, sql: string) => {
  const database = new Database(file);
  database.exec(sql);
  return database;
};
const tokens = (input: number) => ({ tokens: { input, output: 1, cache: { read: 0, write: 0 } } });
const insert = (database: Database, second: number, input: number, more: object = {}) => {
  const { id, session_id, time_created, data } = opencodeMessage(second, `msg_${second}`, "ses_1", {
    ...tokens(input),
    ...more,
  });
  database.run("INSERT INTO message VALUES (?, ?, ?, ?)", [id, session_id, time_created, data]);
};
async function readerOf(format: Format, file: string) {
  const reader = createReader(format, { harness: "h", titles: true });
  for await (const { lines } of sourceLines(file))
    for (const line of lines) reader.read(line, { path: file });
  return reader;
}
const read = async (format: Format, file: string) => (await readerOf(format, file)).take(true).events;
const levelsOf = async (format: Format, file: string, agent: string) =>
  levels(foldEvents(await read(format, file)).get(agent));

describe("databases", () => {
  it("opencode: reads turns, the trigger of a compaction, and no user messages", async () => {
    const database = create(path(), OPENCODE);
    insert(database, 1, 90_000);
    database.run("INSERT INTO message VALUES ('msg_u', 'ses_1', 1795168802000, ?)", [
      JSON.stringify({ role: "user", summary: { diffs: ["x".repeat(10_000)] } }),
    ]);
    database.run("INSERT INTO part VALUES ('prt_1', 'msg_u', 'ses_1', 1795168802000, ?)", [
      JSON.stringify({ type: "compaction", auto: false }),
    ]);
    insert(database, 3, 91_000, { summary: true, mode: "compaction", parentID: "msg_u" });
    insert(database, 5, 12_000);
    database.run("INSERT INTO message VALUES ('msg_bad', 'ses_1', 1, 'not json')");
    database.close();
    expect(await databaseOwner(path())).toBe("opencode");
    const events = await read("opencode", path());
    expect(events.map(({ type }) => type)).toEqual(["session", "turn", "turn", "turn", "compacted"]);
    expect(events.at(-1)).toMatchObject({ trigger: "manual" });
    expect(events[0]).toMatchObject({ title: "Webhooks" });
  });

  it("opencode: measures a long result by its beginning and its length", async () => {
    const database = create(path(), OPENCODE);
    const part = (id: string, message: string, data: object) =>
      database.run("INSERT INTO part VALUES (?, ?, 'ses_1', 1795168800000, ?)", [
        id,
        message,
        JSON.stringify(data),
      ]);
    const read = (output: string, more: object = {}) => ({
      ...{ type: "tool", tool: "read", callID: "c1" },
      state: { status: "completed", input: { filePath: "/w/a.ts" }, output, time: { start: 1, ...more } },
    });
    database.run("INSERT INTO message VALUES ('msg_0', 'ses_1', 1795168800000, ?)", [
      JSON.stringify({ role: "user", time: { created: 1795168800000 }, summary: { diffs: ["x"] } }),
    ]);
    part("prt_0", "msg_0", { type: "text", text: "Why is the load wrong?" });
    part("prt_1", "msg_0", { type: "text", text: "A hint for the person", ignored: true });
    part("prt_2", "msg_0", { type: "text", text: "The content of a file", synthetic: true });
    insert(database, 1, 9_000);
    part("prt_3", "msg_1", { type: "reasoning", text: "The window comes first." });
    part("prt_4", "msg_1", read("export const load = 0.5;\n".repeat(1_000)));
    insert(database, 2, 12_000);
    const old = { ...read("gone ".repeat(9_000), { compacted: 9 }), callID: "c2" };
    part("prt_5", "msg_2", old);
    insert(database, 5, 13_000);
    database.close();
    const [held] = (await readerOf("opencode", path())).contents!();
    expect(held!.items.map(({ kind, tool }) => [kind, tool]).sort()).toEqual([
      ["attachment", undefined],
      ["thinking", undefined],
      ["tool_call", "read"],
      ["tool_call", "read"],
      ["tool_result", "read"],
      ["user", undefined],
    ]);
    const result = held!.items.find(({ kind }) => kind === "tool_result");
    const whole =
      estimateTokens("export const load = 0.5;\n".repeat(1_000)) * tokenizerScale("claude-opus-5");
    expect(Math.abs(result!.tokens / whole - 1)).toBeLessThan(0.02);
  });

  it("reads what is only in the write-ahead log, and changes nothing beside the database", async () => {
    const live = join(folder, "live.db");
    const database = create(live, "PRAGMA locking_mode = EXCLUSIVE; PRAGMA journal_mode = WAL;");
    database.exec(OPENCODE);
    insert(database, 1, 10_000);
    database.exec("PRAGMA wal_checkpoint(PASSIVE)");
    insert(database, 2, 20_000);
    // The owner keeps the log open; this is what another program finds beside the database.
    await copyFile(live, path());
    await copyFile(`${live}-wal`, `${path()}-wal`);
    database.close();
    const before = [await readFile(path()), await readFile(`${path()}-wal`), await readdir(folder)];
    expect(await levelsOf("opencode", path(), "ses_1 main")).toEqual([10_000, 20_000]);
    expect([await readFile(path()), await readFile(`${path()}-wal`), await readdir(folder)]).toEqual(before);
  });

  it("zed: reads threads as JSON and compressed, and skips a broken one", async () => {
    const file = join(folder, "threads.db");
    const database = create(file, ZED);
    const thread = (input: number) => ({
      version: "0.3.0",
      model: { provider: "anthropic", model: "claude-opus-5" },
      messages: [{ User: { id: "u1", content: [] } }, { Agent: { content: [] } }, "Resume"],
      request_token_usage: { u1: { input_tokens: input, output_tokens: 1, cache_read_input_tokens: 500 } },
    });
    const add = (id: string, type: string, data: Buffer) =>
      database.run("INSERT INTO threads VALUES (?, 'Webhooks', '2026-11-20T10:00:00Z', ?, ?)", [
        id,
        type,
        data,
      ]);
    add("t1", "json", Buffer.from(JSON.stringify(thread(1_000))));
    add("t2", "zstd", zstdFrame(JSON.stringify(thread(2_000))));
    add("t3", "zstd", Buffer.from("broken"));
    database.close();
    expect(await databaseOwner(file)).toBe("zed");
    expect(await levelsOf("zed", file, "t1 main")).toEqual([1_500]);
    expect(await levelsOf("zed", file, "t2 main")).toEqual([2_500]);
    expect(foldEvents(await read("zed", file)).size).toBe(2);
  });

  it("openclaw: reads entries as JSON and compressed, without the results of tools", async () => {
    const file = join(folder, "openclaw-agent.sqlite");
    const database = create(
      file,
      `CREATE TABLE session_nodes (session_key TEXT PRIMARY KEY, current_session_id TEXT, label TEXT, display_name TEXT);
       CREATE TABLE session_windows (session_id TEXT PRIMARY KEY, session_key TEXT, spawned_by TEXT, display_name TEXT,
         created_at INTEGER);
       CREATE TABLE transcript_events (session_id TEXT, seq INTEGER, event_json TEXT, event_zstd BLOB);
       INSERT INTO session_nodes VALUES ('agent:main:main', 's1', 'Webhooks', NULL), ('agent:main:subagent:x', 's2', NULL, NULL);
       INSERT INTO session_windows VALUES ('s1', 'agent:main:main', NULL, NULL, 1795168800000),
         ('s2', 'agent:main:subagent:x', 'agent:main:main', NULL, 1795168801000);`,
    );
    const said = (id: string, second: number, input: number) =>
      JSON.stringify({
        type: "message",
        id,
        timestamp: new Date(1_795_168_800_000 + second * 1_000).toISOString(),
        message: {
          role: "assistant",
          api: "x",
          model: "gpt-6",
          usage: { input, output: 1, cacheRead: 0, cacheWrite: 0 },
        },
      });
    const add = (session: string, seq: number, json: string | null, zstd: Buffer | null) =>
      database.run("INSERT INTO transcript_events VALUES (?, ?, ?, ?)", [session, seq, json, zstd]);
    add("s1", 0, said("a", 1, 9_000), null);
    add("s1", 1, null, zstdFrame(said("b", 2, 12_000)));
    add(
      "s1",
      2,
      said("c", 3, 1).replace("assistant", "toolResult").replace('"usage"', '"content":"SECRET","usage"'),
      null,
    );
    add("s1", 3, null, Buffer.from("broken"));
    add("s2", 0, said("a", 2, 4_000), null);
    database.close();
    expect(await databaseOwner(file)).toBe("openclaw");
    expect(await levelsOf("openclaw", file, "s1 main")).toEqual([9_000, 12_000]);
    expect(await levelsOf("openclaw", file, "s1 agent-s2")).toEqual([4_000]);
    for await (const { lines } of sourceLines(file)) expect(lines.join()).not.toContain("SECRET");
  });

  it("goose: reads calls from its ledger, in order within a second, and no totals", async () => {
    const file = join(folder, "sessions.db");
    const database = create(
      file,
      `CREATE TABLE sessions (id TEXT PRIMARY KEY, name TEXT, user_set_name BOOLEAN, session_type TEXT, created_at TIMESTAMP,
         accumulated_total_tokens INTEGER, parent_session_id TEXT);
       CREATE TABLE usage_ledger (id INTEGER PRIMARY KEY AUTOINCREMENT, session_id TEXT, created_timestamp INTEGER, model TEXT,
         input_tokens INTEGER, output_tokens INTEGER, total_tokens INTEGER, cache_read_tokens INTEGER,
         cache_write_tokens INTEGER, cost REAL, cost_source TEXT, is_compaction INTEGER DEFAULT 0);
       INSERT INTO sessions VALUES ('20261120_1', 'Webhooks', FALSE, 'user', '2026-11-20 10:00:00', 9000000, NULL),
         ('20261120_2', 'Look', FALSE, 'sub_agent', '2026-11-20 10:00:01', 5000, '20261120_1');`,
    );
    const call = (
      session: string,
      second: number,
      input: number | bigint,
      compaction: number,
      source = "estimated",
    ) =>
      database.run(
        "INSERT INTO usage_ledger VALUES (NULL, ?, strftime('%s', '2026-11-20 10:00:00') + ?, 'm', ?, 5, NULL, 4, NULL, 0.1, ?, ?)",
        [session, second, input, source, compaction],
      );
    call("20261120_1", 1, 9_000_000, 0, "carried_forward");
    for (const input of [90_000, 12_000, 95_000]) call("20261120_1", 2, input, 0);
    call("20261120_1", 2, 96_000, 1);
    call("20261120_1", 3, 20_000, 0);
    call("20261120_2", 2, 4_000, 0);
    call("20261120_2", 3, 2n ** 60n, 0);
    database.close();
    expect(await databaseOwner(file)).toBe("goose");
    expect(await levelsOf("goose", file, "20261120_1 main")).toEqual([
      90_000, 12_000, 95_000, 96_000, 20_000,
    ]);
    expect(await levelsOf("goose", file, "20261120_1 agent-20261120_2")).toEqual([4_000]);
    const events = await read("goose", file);
    expect(events[0]).toMatchObject({ title: "Webhooks", at: Date.UTC(2026, 10, 20, 10) });
    expect(events.filter(({ type }) => type === "compacted")).toHaveLength(1);
  });

  const SESSIONS = "CREATE TABLE sessions (id TEXT, name TEXT, session_type TEXT, created_at TIMESTAMP";
  const A_SESSION = "INSERT INTO sessions VALUES ('s', 'Webhooks', 'user', '2026-11-20 10:00:00'";
  const LEDGER =
    "CREATE TABLE usage_ledger (id INTEGER, session_id TEXT, is_compaction INT, input_tokens INT, created_timestamp INT";
  const A_CALL = "INSERT INTO usage_ledger VALUES (1, 's', 0, 9000, 1795168801";
  it.each([
    ["columns are missing", `${SESSIONS}); ${A_SESSION}); ${LEDGER}); ${A_CALL})`],
    ["a table is missing", `${LEDGER}); ${A_CALL})`],
    [
      "columns were added",
      `${SESSIONS}, more TEXT); ${A_SESSION}, 'SECRET'); ${LEDGER}, request BLOB); ${A_CALL}, zeroblob(4000000))`,
    ],
    [
      "a table became a view",
      `${SESSIONS}); ${A_SESSION}); ${LEDGER.replace("usage_ledger", "calls")});
       CREATE VIEW usage_ledger AS SELECT * FROM calls; ${A_CALL.replace("usage_ledger", "calls")})`,
    ],
  ])("goose: reads the calls of another version, in which %s", async (_, sql) => {
    const file = join(folder, "sessions.db");
    create(file, sql).close();
    expect(await levelsOf("goose", file, "s main")).toEqual([9_000]);
    for await (const { lines } of sourceLines(file)) {
      expect(lines.join()).not.toContain("SECRET");
      expect(lines.join().length).toBeLessThan(2_000);
    }
  });

  it("goose: keeps the turn of a call whose counts or cost cannot be", async () => {
    const file = join(folder, "sessions.db");
    const database = create(file, `${LEDGER}, cost REAL)`);
    const rows = ["1, 's', 0, 9000, 1795168801, -5", "2, 's', 0, 9001, 1795168802, 9e999"];
    const none = [
      "3, 's', 0, -1, 1795168803, 1",
      "4, 's', 0, 1e300, 1795168804, 1",
      "5, 's', 0, 9, 9e999, 1",
    ];
    for (const row of [...rows, ...none]) database.exec(`INSERT INTO usage_ledger VALUES (${row})`);
    database.close();
    const turns = (await read("goose", file)).filter(({ type }) => type === "turn");
    expect(turns).toHaveLength(2);
    for (const one of turns) expect(one).not.toHaveProperty("cost_usd");
  });

  it("openclaw: reads the entries of a version without titles and parents", async () => {
    const file = join(folder, "openclaw-agent.sqlite");
    const usage = { input: 9_000, output: 1, cacheRead: 0, cacheWrite: 0 };
    const message = { role: "assistant", api: "x", model: "gpt-6", usage };
    const entry = { type: "message", id: "a", timestamp: "2026-11-20T10:00:01Z", message };
    const database = create(
      file,
      `CREATE TABLE session_windows (session_id TEXT, spawned_by TEXT);
       CREATE TABLE transcript_events (session_id TEXT, event_json TEXT)`,
    );
    const texts = [JSON.stringify(entry), '{"type":"mess', "[".repeat(5_000), "null", '{"message":"x"}'];
    for (const text of texts) database.run("INSERT INTO transcript_events VALUES ('s1', ?)", [text]);
    database.close();
    expect(await levelsOf("openclaw", file, "s1 main")).toEqual([9_000]);
  });

  it("zed: reads the threads beside one whose title is a number beyond JSON's", async () => {
    const file = join(folder, "threads.db");
    const database = create(file, ZED.replace("summary TEXT", "summary"));
    const thread = (tokens: number) =>
      JSON.stringify({
        ...{ model: { model: "m" }, messages: [{ User: { id: "p1" } }] },
        request_token_usage: { p1: { input_tokens: tokens, output_tokens: 1 } },
      });
    const at = "2026-11-20T10:00:05Z";
    database.run("INSERT INTO threads VALUES ('t1', ?, ?, 'json', ?)", [2n ** 62n, at, thread(1_500)]);
    database.run("INSERT INTO threads VALUES ('t2', 'x', ?, 'json', ?)", [at, thread(2_500)]);
    database.close();
    expect(await levelsOf("zed", file, "t2 main")).toEqual([2_500]);
  });

  it("reads a database that its program holds locked, with what is in its log", async () => {
    const file = join(folder, "sessions.db");
    const holder = create(file, `PRAGMA locking_mode = EXCLUSIVE; PRAGMA journal_mode = WAL; ${LEDGER})`);
    holder.exec(`${A_CALL})`);
    holder.exec("BEGIN EXCLUSIVE; DELETE FROM usage_ledger");
    expect((await stat(`${file}-wal`)).size).toBeGreaterThan(0);
    expect(await levelsOf("goose", file, "s main")).toEqual([9_000]);
    holder.exec("ROLLBACK");
    holder.close();
  });

  it("names a truncated database, at any length, as unreadable or reads it as far as it goes", async () => {
    const whole = join(folder, "whole.db");
    create(whole, `${LEDGER}); ${A_CALL}); ${SESSIONS}); ${A_SESSION})`).close();
    const bytes = await readFile(whole);
    for (const length of [0, 15, 16, 99, 100, 4_096, 4_097, bytes.length - 4_096, bytes.length - 1]) {
      const file = join(folder, "sessions.db");
      await writeFile(file, bytes.subarray(0, length));
      const { unknown, groups } = await planImport([file]);
      expect(unknown.length + groups.length, String(length)).toBeLessThanOrEqual(1);
      await read("goose", file).catch((error: unknown) => expect(String(error)).toContain("SQLite3Error"));
    }
  });

  it.each([
    [
      "goose-totals",
      "sessions.db",
      "CREATE TABLE sessions (id TEXT, total_tokens INT, accumulated_total_tokens INT)",
    ],
    ["crush", "crush.db", "CREATE TABLE sessions (id TEXT, prompt_tokens INT, summary_message_id TEXT)"],
  ] as const)("declines %s with the reason", async (why, name, sql) => {
    create(join(folder, name), sql).close();
    const plan = await planImport([folder]);
    expect(plan.groups).toEqual([]);
    expect(plan.unknown).toMatchObject([{ path: expect.stringContaining(name), why }]);
    expect(WHY_TEXT[why]).toMatch(/only the totals/);
  });

  it("declines the history of Roo Code with the reason", async () => {
    const item = { id: "x", ts: 1, task: "t", tokensIn: 5_000_000, tokensOut: 1, totalCost: 2 };
    await writeFile(join(folder, "history_item.json"), JSON.stringify(item));
    expect((await planImport([folder])).unknown).toMatchObject([{ why: "roo-code" }]);
  });

  it("names a database that it does not know, and a file that is none", async () => {
    const other = join(folder, "other.db");
    create(other, "CREATE TABLE message (id TEXT, text TEXT)").close();
    const broken = join(folder, "broken.db");
    await writeFile(broken, "SQLite format 3\u0000 and then nothing");
    const plan = await planImport([other, broken]);
    expect(plan.unknown.map(({ location, why }) => [location, why])).toEqual([
      [broken, "unreadable"],
      [other, "unknown_format"],
    ]);
  });

  it("leaves no copy behind", async () => {
    create(path(), OPENCODE).close();
    const copies = async () =>
      (await readdir(tmpdir())).filter((name) => name.startsWith("plimsoll-database-")).sort();
    const before = await copies();
    await databaseOwner(path());
    expect((await copies()).filter((name) => !before.includes(name))).toEqual([]);
    expect((await stat(path())).size).toBeGreaterThan(0);
  });
});

/** A Zstandard frame with one uncompressed block. */
function zstdFrame(text: string): Buffer {
  const content = Buffer.from(text);
  const header = Buffer.alloc(12);
  header.writeUInt32LE(0xfd2fb528, 0);
  // A single segment with a content size of four bytes.
  header.writeUInt8(0xa0, 4);
  header.writeUInt32LE(content.length, 5);
  header.writeUIntLE((content.length << 3) | 1, 9, 3);
  return Buffer.concat([header, content]);
}
