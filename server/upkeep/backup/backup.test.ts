import { randomUUID } from "node:crypto";
import type { BackupManifest } from "@plimsoll/protocol/backup";
import type pg from "pg";
import { afterAll, afterEach, beforeAll, describe, expect, inject, it } from "vitest";
import { PlimsollError } from "../../errors.ts";
import { connectTo } from "../../testing/backends.ts";
import {
  fileOf,
  framesOf,
  manifestOf,
  packed,
  rowsOf,
  withManifest,
  withRows,
} from "../../testing/backup-file.ts";
import { type TestDatabase, testDatabase } from "../../testing/database.ts";
import { until } from "../../testing/until.ts";
import { RESTORE_LOCK, restoreBackup } from "./restore.ts";
import { BACKED_UP, LEFT_OUT } from "./tables.ts";
import { writeBackup } from "./write-backup.ts";

const VERSION = "1.2.3";
const NOW = Date.parse("2026-11-23T04:00:00Z");
const never = new AbortController().signal;

let source: TestDatabase;
let backup: Buffer;
const opened: TestDatabase[] = [];

/** Values that a text format could mangle. */
const ODD = [
  "",
  "\\N",
  "\\.",
  "tab\tnewline\nreturn\rbackslash\\vertical\u000b",
  "\u0001\u001b[31m\u007f\u2028\ufeff",
  "emoji 🏴‍☠️ and Ω, and a lone quote '\"`",
  '{NULL,"a,b",{}}',
];

beforeAll(async () => {
  source = await testDatabase();
  const { prisma } = source;
  await prisma.project.create({ data: { id: 1, name: "default", createdAt: new Date(NOW) } });
  await prisma.$executeRaw`SELECT setval(pg_get_serial_sequence('projects', 'id'), 41)`;
  await prisma.project.create({
    data: { name: 'tab\t"x', createdAt: new Date(NOW), archivedAt: new Date(5) },
  });
  await prisma.apiKey.createMany({
    data: ODD.map((name, at) => ({
      projectId: 1,
      id: randomUUID(),
      name,
      prefix: "plim_x",
      hash: Buffer.from([0, 1, 0x5c, 0x0a, 0xff, at]),
      scopes: at === 0 ? [] : [name, "NULL", ""],
      createdAt: new Date(NOW + 1 / 2),
      lastUsedAt: at % 2 === 0 ? null : new Date("9999-12-31T23:59:59.999Z"),
    })),
  });
  await prisma.rejectedEvent.create({
    data: {
      projectId: 1,
      id: randomUUID(),
      receivedAt: new Date(0),
      error: "x".repeat(2_000_000),
      event: { text: "\u2028 \\u0000 \n", list: [1, null, 1e21, 0.1] },
    },
  });
  await prisma.turnBlock.create({
    data: {
      projectId: 42,
      agent: 2_147_483_647,
      firstAt: new Date(NOW),
      firstKey: -9_223_372_036_854_775_808n,
      lastAt: new Date(NOW),
      turns: 1,
      keys: Buffer.alloc(8),
      data: Buffer.alloc(1_500_000, 0x5c),
    },
  });
  await prisma.$executeRaw`
    INSERT INTO rollups (project_id, grain, bucket, harness, model, turns, missing, fresh, cache_read, cache_write, output,
      cost_micros, peak_utilization, bins, stale)
    SELECT 1, 1, TIMESTAMPTZ '2026-01-01' + n * interval '1 minute', ${ODD[3]}, 'm', n, 0, n, n, n, n,
      9223372036854775807, (1.0 / n)::real, ARRAY[n, NULL, -1], n % 2 = 0
    FROM generate_series(1, 10000) n`;
  await prisma.browserSession.create({
    data: {
      hash: Buffer.from("secret-session"),
      id: randomUUID(),
      createdAt: new Date(),
      expiresAt: new Date(),
      lastSeenAt: new Date(),
    },
  });
  backup = await write(source.url);
});
afterEach(() => Promise.all(opened.splice(0).map((database) => database.close())));
afterAll(() => source.close());

/** A database like that of a server that was started for the first time. */
async function fresh(): Promise<TestDatabase> {
  const database = await testDatabase();
  opened.push(database);
  await database.prisma.project.create({ data: { name: "default", createdAt: new Date() } });
  return database;
}

async function write(url: string, signal = never): Promise<Buffer> {
  const frames: Uint8Array[] = [];
  for await (const frame of writeBackup({ url, version: VERSION, now: NOW, signal })) frames.push(frame);
  return Buffer.concat(frames);
}

async function* pieces(file: Uint8Array, size = 65_536): AsyncGenerator<Uint8Array> {
  for (let at = 0; at < file.length; at += size) yield file.subarray(at, at + size);
}

const restore = ({ url }: TestDatabase, body: Uint8Array | AsyncIterable<Uint8Array>, signal = never) =>
  restoreBackup({ url, version: VERSION, signal, body: body instanceof Uint8Array ? pieces(body) : body });

const failure = async (work: Promise<unknown>): Promise<PlimsollError> => {
  const error = await work.then(
    () => undefined,
    (thrown: unknown) => thrown,
  );
  expect(error).toBeInstanceOf(PlimsollError);
  return error as PlimsollError;
};

/** A checksum of each table's rows, in whatever order they are stored. */
async function checksums({ prisma }: TestDatabase): Promise<Record<string, string>> {
  const sums: Record<string, string> = {};
  for (const table of [...BACKED_UP, "browser_sessions"]) {
    const [row] = await prisma.$queryRawUnsafe<{ sum: string }[]>(
      `SELECT count(*) || ' ' || COALESCE(sum(hashtextextended(t::text, 0)), 0) AS sum FROM ${table} t`,
    );
    sums[table] = row!.sum;
  }
  return sums;
}

describe("the tables of a backup", () => {
  it("are all tables of the schema but those that must not survive", async () => {
    const rows = await source.prisma.$queryRaw<{ name: string }[]>`
      SELECT tablename AS name FROM pg_tables WHERE schemaname = 'public'`;
    expect([...BACKED_UP, ...Object.keys(LEFT_OUT)].sort()).toEqual(rows.map(({ name }) => name).sort());
  });

  it("are listed in the manifest with the version and the migrations", () => {
    const manifest = manifestOf(backup);
    expect(manifest).toMatchObject({ plimsoll: VERSION, created_at: "2026-11-23T04:00:00.000Z" });
    expect(manifest.migrations.at(0)).toBe("0001_init");
    expect(manifest.tables.map(({ name }) => name)).toEqual(BACKED_UP);
  });

  it("hold no browser session", () => {
    expect(backup.includes("secret-session")).toBe(false);
    expect(backup.includes(Buffer.from("secret-session").toString("hex"))).toBe(false);
    expect(rowsOf(backup, "projects")).toContain("default");
  });
});

describe("restoring a backup", () => {
  it("brings back every row, however long or odd, and nothing else", async () => {
    const target = await fresh();
    const { result, projectIds } = await restore(target, backup);
    expect(result).toMatchObject({ projects: 2, sessions: 0, turns: 0, waiting_events: 0 });
    expect(projectIds).toEqual([1, 42]);
    const { browser_sessions: _, ...given } = await checksums(source);
    const { browser_sessions, ...restored } = await checksums(target);
    expect(restored).toEqual(given);
    expect(browser_sessions).toBe("0 0");
  });

  it("continues the ids where the other server was, also of projects that were deleted there", async () => {
    const other = await fresh();
    await other.prisma.project.create({ data: { name: "deleted", createdAt: new Date() } });
    await other.prisma.project.delete({ where: { name: "deleted" } });
    const target = await fresh();
    await restore(target, await write(other.url));
    const made = await target.prisma.project.create({ data: { name: "next", createdAt: new Date() } });
    expect(made.id).toBe(3);
  });

  it("writes the same backup again", async () => {
    const target = await fresh();
    await restore(target, backup);
    const again = await write(target.url);
    for (const { name } of manifestOf(backup).tables) {
      expect(rowsOf(again, name).split("\n").sort(), name).toEqual(rowsOf(backup, name).split("\n").sort());
    }
  });

  it("does not depend on the settings of either database", async () => {
    const target = await fresh();
    const admin = await connectTo(target.url);
    const name = new URL(target.url).pathname.slice(1);
    for (const setting of [
      "DateStyle = 'SQL, DMY'",
      "TimeZone = 'Asia/Kathmandu'",
      "bytea_output = 'escape'",
      "extra_float_digits = -10",
      "client_encoding = 'LATIN1'",
    ])
      await admin.query(`ALTER DATABASE ${name} SET ${setting}`);
    await admin.end();
    await restore(target, backup);
    const again = await write(target.url);
    for (const table of ["api_keys", "rollups", "turn_blocks", "rejected_events"]) {
      expect(rowsOf(again, table).split("\n").sort(), table).toEqual(
        rowsOf(backup, table).split("\n").sort(),
      );
    }
  });

  it("takes the lease from every projector, so that none goes on with what it remembers", async () => {
    const target = await fresh();
    await target.prisma.projector.create({
      data: { projectId: 1, holder: randomUUID(), epoch: 7n },
    });
    await restore(target, backup);
    expect(await target.prisma.projector.findFirst()).toMatchObject({ epoch: 8n, holder: null });
  });
});

describe("a backup of the last version before 0.1.0", () => {
  /** Makes a database what that version had, and stores an agent as its first days did. */
  const UNRELEASED = `
    ALTER TABLE rollup_names ADD COLUMN before_limit boolean NOT NULL DEFAULT false;
    ALTER TABLE agents ALTER COLUMN first_received_at DROP NOT NULL;
    ALTER TABLE sessions ALTER COLUMN first_received_at DROP NOT NULL;
    INSERT INTO _prisma_migrations (id, checksum, migration_name, finished_at)
      VALUES ('2', '', '0002_rollup_grains', now()), ('31', '', '0031_citus_tables', now());
    INSERT INTO projects (id, name, created_at) VALUES (1, 'default', now());
    INSERT INTO rollup_names VALUES (1, '2026-11-20', 'h', 'm', true), (1, '2026-11-21', 'h', 'm', false);
    INSERT INTO sessions (project_id, id, harness, name, first_at, last_at, last_received_at)
      VALUES (1, gen_random_uuid(), 'h', 's', '2026-11-20', '2026-11-20', '2026-11-21');
    INSERT INTO agents (project_id, id, session_id, name, number, first_at, last_at, last_received_at, turns)
      SELECT 1, gen_random_uuid(), id, 'main', 1, first_at, last_at, last_received_at, 1 FROM sessions`;

  it.skipIf(inject("citus"))("is converted", async () => {
    const old = await testDatabase();
    opened.push(old);
    const client = await connectTo(old.url);
    await client.query(UNRELEASED);
    await client.end();

    const target = await fresh();
    const columns = "SELECT attname, attnotnull FROM pg_attribute WHERE attrelid = 'agents'::regclass";
    const before = await target.prisma.$queryRawUnsafe(columns);
    const { result } = await restore(target, await write(old.url));
    expect(result).toMatchObject({ projects: 1, sessions: 1 });
    expect(await target.prisma.$queryRawUnsafe(columns)).toEqual(before);
    expect(await target.prisma.rollupName.count()).toBe(2);
    const agent = await target.prisma.agent.findFirstOrThrow();
    expect(agent.firstReceivedAt).toEqual(agent.lastReceivedAt);
    expect(await target.prisma.refold.findMany()).toMatchObject([{ agentId: agent.id, doneTo: null }]);
    // The next backup is of this version, and restored without a conversion.
    await restore(await fresh(), await write(target.url));
  });
});

describe("a backup that cannot be restored", () => {
  let target: TestDatabase;
  let before: Record<string, string>;

  /** Tries to restore. Expects that nothing changed, and that the database still takes the right backup. */
  async function refused(body: Uint8Array | AsyncIterable<Uint8Array>): Promise<PlimsollError> {
    target = await fresh();
    before = await checksums(target);
    const error = await failure(restore(target, body));
    expect(await checksums(target)).toEqual(before);
    expect(error.message).toContain("Nothing was restored.");
    return error;
  }

  it("ends in any of its sections", async () => {
    const ends: number[] = [];
    let at = 18;
    for (const { payload } of framesOf(backup)) {
      ends.push(at, at + 3, at + 5 + Math.floor(payload.length / 2));
      at += 5 + payload.length;
    }
    target = await fresh();
    before = await checksums(target);
    // The tests of the format try every byte; these are in the middle of a statement, or between two.
    for (const end of [...ends.filter((_, place) => place % 7 === 0), at, backup.length - 1]) {
      const error = await failure(restore(target, backup.subarray(0, end)));
      expect(error, `${end} bytes`).toMatchObject({ code: "bad_request", details: { reason: "truncated" } });
    }
    expect(await checksums(target)).toEqual(before);
    expect((await restore(target, backup)).result.projects).toBe(2);
  });

  it("has a bit that was flipped, also where the rows stay valid", async () => {
    target = await fresh();
    before = await checksums(target);
    for (let at = 20; at < backup.length; at += Math.ceil(backup.length / 40)) {
      const altered = Buffer.from(backup);
      altered[at]! ^= 4;
      const error = await failure(restore(target, altered));
      expect(["bad_request", "conflict"], `byte ${at}: ${error.message}`).toContain(error.code);
    }
    expect(await checksums(target)).toEqual(before);
    const renamed = Buffer.from(backup);
    renamed.write("9.9.9", renamed.indexOf(VERSION));
    expect(await failure(restore(target, renamed))).toMatchObject({ details: { reason: "altered" } });
    expect(await checksums(target)).toEqual(before);
  });

  it.each<[string, () => Uint8Array, string]>([
    ["is empty", () => Buffer.alloc(0), "not_a_backup"],
    ["is another file", () => Buffer.from("SQLite format 3\u0000"), "not_a_backup"],
    ["is encrypted", () => Buffer.from("age-encryption.org/v1\n-> scrypt x 18\n"), "not_a_backup"],
    [
      "has rows that expand without end",
      () => withRows(backup, "journal", packed(Buffer.alloc(64 << 20)), 1),
      "altered",
    ],
    [
      "has many sections that expand",
      () => {
        const section = { kind: "data" as const, payload: packed(Buffer.alloc(1 << 20, "1\n")) };
        return fileOf(
          framesOf(backup).flatMap((frame, at, all) =>
            frame.kind === "table" && all.findIndex(({ kind }) => kind === "table") === at
              ? [frame, ...Array.from({ length: 70 }, () => section)]
              : [frame],
          ),
        );
      },
      "altered",
    ],
    [
      "lists its contents without end",
      () => fileOf([{ kind: "manifest", payload: Buffer.alloc(300_000, "[") }]),
      "altered",
    ],
    [
      "has rows that are not compressed",
      () => withRows(backup, "journal", Buffer.from("1\t2\n"), 1),
      "altered",
    ],
    ["has rows with too few values", () => withRows(backup, "projects", packed("1\n"), 1), "altered"],
    [
      "has a value of another type",
      () => withRows(backup, "model_windows", packed("x\ty\tz\tnow\n"), 1),
      "altered",
    ],
    [
      "has a row twice",
      () => withRows(backup, "projects", packed("1\ta\tnow\t\\N\t\\N\n1\tb\tnow\t\\N\t\\N\n"), 2),
      "altered",
    ],
    [
      "counts its rows wrongly",
      () => withRows(backup, "projects", packed("1\tdefault\tnow\t\\N\t\\N\n"), 2),
      "altered",
    ],
    [
      "has no default project",
      () => withRows(backup, "projects", packed("7\tdefault\tnow\t\\N\t\\N\n"), 1),
      "altered",
    ],
    ["has a table that is not Plimsoll's", () => withManifest(backup, renaming("pg_authid")), "other_tables"],
    [
      "has SQL in the name of a table",
      () => withManifest(backup, renaming('projects"; DROP TABLE journal; --')),
      "other_tables",
    ],
    ["has a column that is missing here", () => withManifest(backup, addingColumn), "other_tables"],
    [
      "lists a table twice",
      () => withManifest(backup, (m) => ({ ...m, tables: [m.tables[0], ...m.tables.slice(0, -1)] })),
      "other_tables",
    ],
    [
      "is older",
      () => withManifest(backup, (m) => ({ ...m, plimsoll: "0.9.0", migrations: m.migrations.slice(0, -1) })),
      "other_version",
    ],
    [
      "is newer",
      () => withManifest(backup, (m) => ({ ...m, migrations: [...m.migrations, "9999_later"] })),
      "other_version",
    ],
  ])("%s", async (_name, file, reason) => {
    const error = await refused(file());
    expect(error.details).toMatchObject({ reason });
  });

  it("has a row that does not end", async () => {
    const target = await fresh();
    const file = withRows(backup, "projects", packed("x".repeat(3_000)), 1);
    const work = restoreBackup({
      url: target.url,
      version: VERSION,
      signal: never,
      body: pieces(file),
      mostRowBytes: 2_000,
    });
    const error = await failure(work);
    expect(error.message).toContain("a row of more than 2000 bytes does not end");
  });

  it("names the version that can restore it", async () => {
    const older = withManifest(backup, (m) => ({ ...m, plimsoll: "0.9.0", migrations: ["0001_x"] }));
    expect((await refused(older)).message).toContain(
      "Restore it with Plimsoll 0.9.0, then upgrade that server.",
    );
  });

  it("breaks off with an error of its own", async () => {
    async function* broken() {
      yield backup.subarray(0, backup.length - 50_000);
      throw new Error("connection reset");
    }
    target = await fresh();
    before = await checksums(target);
    await expect(restore(target, broken())).rejects.toThrow("connection reset");
    expect(await checksums(target)).toEqual(before);
  });
});

describe("a database that is not empty", () => {
  it.each<[string, string]>([
    ["projects", "INSERT INTO projects (name, created_at) VALUES ('other', now())"],
    ["journal", "INSERT INTO journal (project_id, id, events, body) VALUES (1, gen_random_uuid(), 1, '{}')"],
    ["model_windows", "INSERT INTO model_windows VALUES (1, 'm', 1, now())"],
    [
      "api_keys",
      "INSERT INTO api_keys (project_id, id, name, prefix, hash, created_at) VALUES (1, gen_random_uuid(), '', '', '', now())",
    ],
  ])("with a row in %s is refused and keeps it", async (table, sql) => {
    const target = await fresh();
    await target.prisma.$executeRawUnsafe(sql);
    const before = await checksums(target);
    const error = await failure(restore(target, backup));
    expect(error).toMatchObject({ code: "conflict", details: { reason: "not_empty", tables: [table] } });
    expect(await checksums(target)).toEqual(before);
  });

  it("is refused for the second of two restores at once", async () => {
    const target = await fresh();
    let go!: () => void;
    const held = new Promise<void>((resolve) => {
      go = resolve;
    });
    async function* slow() {
      yield backup.subarray(0, backup.length - 10);
      await held;
      yield backup.subarray(backup.length - 10);
    }
    const first = restore(target, slow());
    const watcher = await connectTo(target.url);
    await until(async () => {
      const { rowCount } = await watcher.query(
        // Citus holds others.
        `SELECT 1 FROM pg_locks WHERE locktype = 'advisory' AND granted AND objid = ${RESTORE_LOCK}
           AND database = (SELECT oid FROM pg_database WHERE datname = current_database())`,
      );
      return rowCount === 1;
    });
    await watcher.end();
    expect((await failure(restore(target, backup))).message).toContain("Another restore is under way.");
    go();
    expect((await first).result.projects).toBe(2);
    expect((await failure(restore(target, backup))).details).toMatchObject({ reason: "not_empty" });
  });
});

describe("the transaction of a backup", () => {
  const openTransactions = async (client: pg.Client) => {
    const { rows } = await client.query(
      `SELECT pid FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid()
         AND xact_start IS NOT NULL AND backend_type = 'client backend'`,
    );
    return rows.length;
  };
  const untilNone = (client: pg.Client) => until(async () => (await openTransactions(client)) === 0);

  it("sees one moment: rows that are written meanwhile are not in it", async () => {
    const other = await fresh();
    const frames = writeBackup({ url: other.url, version: VERSION, now: NOW, signal: never });
    const read: Uint8Array[] = [(await frames.next()).value];
    await other.prisma.modelWindow.create({
      data: { projectId: 1, model: "late", tokens: 1, updatedAt: new Date() },
    });
    for await (const frame of frames) read.push(frame);
    expect(rowsOf(Buffer.concat(read), "model_windows")).toBe("");
  });

  it("lets no migration rewrite a table, whose rows would be missing then", async () => {
    const other = await fresh();
    const migrating = await connectTo(other.url);
    await migrating.query("SET lock_timeout = '100ms'");
    const frames = writeBackup({ url: other.url, version: VERSION, now: NOW, signal: never });
    const read: Uint8Array[] = [(await frames.next()).value];
    await expect(migrating.query("ALTER TABLE projects ALTER COLUMN id TYPE bigint")).rejects.toThrow(
      "lock timeout",
    );
    for await (const frame of frames) read.push(frame);
    expect(rowsOf(Buffer.concat(read), "projects")).toContain("default");
    await migrating.end();
  });

  it("ends if the reader stops early", async () => {
    const watcher = await connectTo(source.url);
    const frames = writeBackup({ url: source.url, version: VERSION, now: NOW, signal: never });
    await frames.next();
    expect(await openTransactions(watcher)).toBe(1);
    await frames.return(undefined);
    await untilNone(watcher);
    await watcher.end();
  });

  it.each(["between two tables", "inside a table"])("ends if the reader leaves %s", async (where) => {
    const watcher = await connectTo(source.url);
    const gone = new AbortController();
    const frames = writeBackup({ url: source.url, version: VERSION, now: NOW, signal: gone.signal });
    let seen = 0;
    for (;;) {
      const { value } = await frames.next();
      seen += 1;
      const kind = String.fromCharCode((value as Uint8Array)[0]!);
      if (seen > 2 && kind === (where === "inside a table" ? "D" : "E")) break;
    }
    gone.abort();
    await expect(
      (async () => {
        for await (const _ of frames);
      })(),
    ).rejects.toThrow();
    await untilNone(watcher);
    await watcher.end();
  });

  it("fails a backup whose database connection is lost, instead of ending it", async () => {
    const watcher = await connectTo(source.url);
    const frames = writeBackup({ url: source.url, version: VERSION, now: NOW, signal: never });
    for (let seen = 0; seen < 5; seen += 1) await frames.next();
    await watcher.query(
      "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = 'plimsoll maintenance' AND datname = current_database()",
    );
    const read: Uint8Array[] = [];
    await expect(
      (async () => {
        for await (const frame of frames) read.push(frame);
      })(),
    ).rejects.toThrow();
    await watcher.end();
  });
});

const renaming = (name: string) => (manifest: BackupManifest) => ({
  ...manifest,
  tables: manifest.tables.map((table, at) => (at === 0 ? { ...table, name } : table)),
});
const addingColumn = (manifest: BackupManifest) => ({
  ...manifest,
  tables: manifest.tables.map((table, at) =>
    at === 0 ? { ...table, columns: [...table.columns, { name: "more", type: "integer" }] } : table,
  ),
});
