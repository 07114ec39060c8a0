import { randomUUID } from "node:crypto";
import { AuditQuery } from "@plimsoll/protocol/api";
import { pino } from "pino";
import { afterAll, beforeAll, beforeEach, describe, expect, it, vi } from "vitest";
import { readEntries } from "../../read/audit.ts";
import { type TestDatabase, testDatabase } from "../../testing/database.ts";
import { openAudit } from "./audit.ts";
import { type Actor, addEntry } from "./entry.ts";
import { createFailedLogins, MOST_CLIENTS } from "./failed-logins.ts";
import { trimEntries } from "./trim.ts";

const NOW = Date.parse("2026-11-20T12:34:56.789Z");
const DAY = 86_400_000;
const log = pino({ level: "silent" });
const key = (name: string): Actor => ({ kind: "key", id: randomUUID(), name });
const BROWSER: Actor = { kind: "browser", id: "b", name: "Firefox on Linux", address: "10.0.0.9" };

let database: TestDatabase;
beforeAll(async () => {
  database = await testDatabase();
});
afterAll(() => database.close());
beforeEach(async () => {
  await database.prisma.auditEntry.deleteMany();
  await database.prisma.project.deleteMany();
});

const read = () => readEntries(database.prisma, { everything: true }, AuditQuery.parse({}));

describe("an entry", () => {
  it("says who changed what, where and when", async () => {
    const { id } = await database.prisma.project.create({ data: { name: "billing", createdAt: new Date() } });
    await addEntry(database.prisma, NOW, {
      actor: BROWSER,
      action: "window_set",
      projectId: id,
      target: "gpt-9",
      detail: "128000 tokens",
    });
    expect(await read()).toEqual({
      items: [
        {
          id: expect.stringMatching(/^[\da-f]{8}-[\da-f]{4}-7/),
          at: "2026-11-20T12:34:56.789Z",
          action: "window_set",
          actor: { kind: "browser", id: "b", name: "Firefox on Linux", address: "10.0.0.9" },
          project_id: id,
          project: "billing",
          target: "gpt-9",
          detail: "128000 tokens",
          count: 1,
        },
      ],
      next_cursor: null,
    });
    await database.prisma.project.update({
      where: { id },
      data: { deletingAt: new Date(), name: String(id) },
    });
    expect((await read()).items[0]).toMatchObject({ project_id: id, project: null });
  });

  it("holds no secret, nothing that moves a cursor, and only so much", async () => {
    const secret = `plim_abcdefg_${"s".repeat(49)}`;
    await addEntry(database.prisma, NOW, {
      actor: key(`ci\u0000\u001b[31m\u202e${"n".repeat(300)}`),
      action: "key_created",
      target: `my ${secret}\ud800 \u2028 key`,
      detail: `Authorization: Bearer ${secret} ${"😀".repeat(1_000)}`,
    });
    const text = JSON.stringify(await database.prisma.auditEntry.findMany());
    expect(text).not.toContain("ssss");
    expect(text).not.toMatch(/\\u0000|\\u001b|\u202e|\u2028|\ufffd/);
    const [row] = await database.prisma.auditEntry.findMany();
    expect([...row!.actorName!]).toHaveLength(100);
    expect([...row!.detail!]).toHaveLength(500);
    expect(row!.detail).toMatch(/😀…$/u);
  });

  it("that cannot be written after a change is logged as an error", async () => {
    const error = vi.fn();
    const audit = openAudit({ prisma: database.prisma, log: { ...log, error } as never, now: () => NOW });
    await database.prisma.$executeRaw`ALTER TABLE audit_entries RENAME TO away`;
    try {
      await audit.note({ actor: BROWSER, action: "backup_written" });
    } finally {
      await database.prisma.$executeRaw`ALTER TABLE away RENAME TO audit_entries`;
    }
    expect(error).toHaveBeenCalledWith(
      expect.objectContaining({ action: "backup_written", actor: BROWSER }),
      expect.any(String),
    );
    await audit.note({ actor: BROWSER, action: "backup_written" });
    expect((await read()).items).toHaveLength(1);
    await audit.stop();
  });
});

describe("failed logins", () => {
  let time = NOW;
  beforeEach(() => {
    time = NOW;
  });
  const counter = () => createFailedLogins({ prisma: database.prisma, log, now: () => time });
  const counts = async () =>
    (await database.prisma.auditEntry.findMany({ orderBy: { address: "asc" } })).map(
      ({ action, actor, address, count }) => [action, actor, address, count],
    );

  it("are one row for each client and hour, over all processes", async () => {
    const [a, b] = [counter(), counter()];
    for (let i = 0; i < 500; i++) a.note("10.0.0.1");
    for (let i = 0; i < 20; i++) b.note("10.0.0.1");
    b.note("10.0.0.2");
    await Promise.all([a.flush(), b.flush()]);
    a.note("10.0.0.1");
    await a.flush();
    expect(await counts()).toEqual([
      ["login_failed", "visitor", "10.0.0.1", 521],
      ["login_failed", "visitor", "10.0.0.2", 1],
    ]);
    expect((await read()).items[0]?.at).toBe("2026-11-20T12:34:56.789Z");
    time += 3_600_000;
    a.note("10.0.0.1");
    await Promise.all([a.stop(), b.stop()]);
    expect(await counts()).toHaveLength(3);
  });

  it("of too many clients share one row", async () => {
    const failed = counter();
    for (let i = 0; i < 5_000; i++) failed.note(`2001:db8::${i.toString(16)}`);
    await failed.stop();
    const rows = await counts();
    expect(rows).toHaveLength(MOST_CLIENTS + 1);
    expect(rows.at(-1)).toEqual(["login_failed", "visitor", null, 5_000 - MOST_CLIENTS]);
  });

  it("that could not be written are written later", async () => {
    const failed = counter();
    await database.prisma.$executeRaw`ALTER TABLE audit_entries RENAME TO away`;
    failed.note("10.0.0.1");
    await failed.flush();
    await database.prisma.$executeRaw`ALTER TABLE away RENAME TO audit_entries`;
    failed.note("10.0.0.1");
    await failed.stop();
    expect(await counts()).toEqual([["login_failed", "visitor", "10.0.0.1", 2]]);
  });
});

describe("trimming", () => {
  const fill = (entries: number, actor: string, project: number | null, ageDays: number) =>
    database.prisma.$executeRaw`
      INSERT INTO audit_entries (id, at, action, actor, project)
      SELECT gen_random_uuid(), ${new Date(NOW - ageDays * DAY)}::timestamptz + n * interval '1 ms', 'key_created', ${actor},
        ${project}::int4
      FROM generate_series(1, ${entries}::int4) n`;
  const left = async () => {
    const rows = await database.prisma.auditEntry.groupBy({ by: ["actor", "project"], _count: true });
    return Object.fromEntries(rows.map(({ actor, project, _count }) => [`${actor} ${project}`, _count]));
  };

  it("deletes what is older than 400 days", async () => {
    await fill(2_500, "local", null, 401);
    await fill(10, "local", null, 399);
    expect(await trimEntries(database.prisma, NOW)).toBe(2_500);
    expect(await left()).toEqual({ "local null": 10 });
  });

  it("of a flood leaves what others did", async () => {
    await fill(300, "browser", 1, 300);
    await fill(200, "local", null, 350);
    await fill(3_000, "key", 2, 1);
    expect(await trimEntries(database.prisma, NOW, { most: 1_000 })).toBe(2_500);
    expect(await left()).toEqual({ "browser 1": 300, "local null": 200, "key 2": 500 });
    expect(await trimEntries(database.prisma, NOW, { most: 1_000 })).toBe(0);
  });
});
