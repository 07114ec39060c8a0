import { pino } from "pino";
import { afterAll, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { PlimsollError } from "../../errors.ts";
import { makeKey } from "../../key-format.ts";
import { LOCAL } from "../../testing/actor.ts";
import { type TestDatabase, testDatabase } from "../../testing/database.ts";
import { createKeys, type Keys } from "./keys.ts";

const log = pino({ level: "silent" });
const START = Date.parse("2026-11-20T12:00:00Z");

let database: TestDatabase;
let time = START;
let keys: Keys;
let announced: string[] = [];

const open = () =>
  createKeys({
    prisma: database.prisma,
    log,
    now: () => time,
    announce: (hash) => announced.push(hash),
  });

beforeAll(async () => {
  database = await testDatabase();
});
afterAll(() => database.close());

beforeEach(async () => {
  time = START;
  announced = [];
  await database.prisma.apiKey.deleteMany();
  keys = open();
});

const stored = (id: string) => database.prisma.apiKey.findFirstOrThrow({ where: { id } });

describe("keys", () => {
  it("are shown once and kept as a hash", async () => {
    const created = await keys.create(1, { name: "phantom", scopes: ["ingest", "read", "ingest"] }, LOCAL);
    expect(created).toMatchObject({
      name: "phantom",
      prefix: created.secret.slice(0, 12),
      scopes: ["ingest", "read"],
      created_at: "2026-11-20T12:00:00.000Z",
      last_used_at: null,
      revoked_at: null,
      expires_at: null,
      replaced_by: null,
    });
    const rows = await database.prisma.$queryRaw<
      { row: string }[]
    >`SELECT to_jsonb(k)::text AS row FROM api_keys k`;
    expect(rows).toHaveLength(1);
    expect(rows[0]!.row).not.toContain(created.secret.slice(13));
    const { secret: _, ...view } = created;
    expect(await keys.list(1)).toEqual([view]);
    expect(await keys.list(2)).toEqual([]);
  });

  it("are verified with a query once, then from memory", async () => {
    const { id, secret } = await keys.create(1, { name: "a", scopes: ["ingest"] }, LOCAL);
    expect(await keys.verify(secret)).toMatchObject({ keyId: id, projectId: 1, scopes: new Set(["ingest"]) });
    await keys.settle();
    await database.prisma.apiKey.deleteMany();
    const again = keys.verify(secret);
    expect(again).not.toBeInstanceOf(Promise);
    expect(again).toMatchObject({ keyId: id });
    time += 30_001;
    expect(await keys.verify(secret)).toBeUndefined();
  });

  it("are looked up once, however many requests bring one at the same time", async () => {
    const { secret } = await keys.create(1, { name: "a", scopes: ["ingest"] }, LOCAL);
    const answers = Array.from({ length: 50 }, () => keys.verify(secret));
    expect(new Set(answers).size).toBe(1);
    expect(await answers[0]).toBeDefined();
  });

  it("that nobody made stay unknown for a moment without a query", async () => {
    const { secret } = makeKey();
    expect(await keys.verify(secret)).toBeUndefined();
    expect(keys.verify(secret)).toBeUndefined();
    time += 5_001;
    expect(keys.verify(secret)).toBeInstanceOf(Promise);
  });

  it("note their last use once a minute", async () => {
    const { id, secret } = await keys.create(1, { name: "a", scopes: ["ingest"] }, LOCAL);
    const usedAt = async () => {
      await keys.verify(secret);
      await keys.settle();
      return (await stored(id)).lastUsedAt?.getTime();
    };
    expect(await usedAt()).toBe(START);
    time = START + 20_000;
    expect(await usedAt()).toBe(START);
    time = START + 59_999;
    expect(await usedAt()).toBe(START);
    time = START + 60_000;
    expect(await usedAt()).toBe(START + 60_000);
    // Another process with the same key leaves the row alone.
    const other = open();
    time += 1_000;
    await other.verify(secret);
    await other.settle();
    expect((await stored(id)).lastUsedAt?.getTime()).toBe(START + 60_000);
  });

  it("end at once here, and by announcement or in 30 s elsewhere", async () => {
    const { id, secret } = await keys.create(1, { name: "a", scopes: ["ingest"] }, LOCAL);
    const other = open();
    const deaf = open();
    for (const each of [keys, other, deaf]) expect(await each.verify(secret)).toBeDefined();

    const revoked = await keys.revoke(1, id, LOCAL);
    expect(revoked.revoked_at).toBe("2026-11-20T12:00:00.000Z");
    expect(await keys.verify(secret)).toBeUndefined();
    expect(announced).toHaveLength(1);

    expect(other.verify(secret)).toMatchObject({ keyId: id });
    other.forget(announced[0]!);
    expect(await other.verify(secret)).toBeUndefined();

    expect(deaf.verify(secret)).toMatchObject({ keyId: id });
    time += 30_001;
    expect(await deaf.verify(secret)).toBeUndefined();

    time += 1_000;
    expect((await keys.revoke(1, id, LOCAL)).revoked_at).toBe(revoked.revoked_at);
  });

  it("are not remembered from before a revocation that came while they were looked up", async () => {
    const { id, secret } = await keys.create(1, { name: "a", scopes: ["ingest"] }, LOCAL);
    const other = open();
    const underWay = other.verify(secret);
    other.forget(null);
    await underWay;
    await keys.revoke(1, id, LOCAL);
    expect(await other.verify(secret)).toBeUndefined();
  });

  it("can be revoked only in their own project, and only if there", async () => {
    const { id } = await keys.create(1, { name: "a", scopes: ["ingest"] }, LOCAL);
    await expect(keys.revoke(2, id, LOCAL)).rejects.toMatchObject({ code: "not_found" });
    await expect(keys.revoke(1, "00000000-0000-0000-0000-000000000000", LOCAL)).rejects.toBeInstanceOf(
      PlimsollError,
    );
    expect((await stored(id)).revokedAt).toBeNull();
  });
});

describe("a key that expires", () => {
  const expiring = (ms: number) =>
    keys.create(1, { name: "ci", scopes: ["ingest"], expires_at: new Date(START + ms).toISOString() }, LOCAL);

  it("works until that moment and not longer, also from the cache", async () => {
    const { secret } = await expiring(20_000);
    expect(await keys.verify(secret)).toMatchObject({ kind: "key", keyName: "ci" });
    time = START + 19_999;
    expect(keys.recall(secret)).toBeDefined();
    time = START + 20_000;
    expect(keys.recall(secret)).toBeUndefined();
    const expired = { kind: "expired", expiredAt: START + 20_000, replaced: false };
    expect(await keys.verify(secret)).toEqual(expired);
    expect(await open().verify(secret)).toEqual(expired);
  });

  it("is not used once it expired", async () => {
    const { id, secret } = await expiring(1_000);
    time = START + 100_000;
    await keys.verify(secret);
    await keys.settle();
    expect((await stored(id)).lastUsedAt).toBeNull();
  });

  it.each([
    ["over", -1, "is over"],
    ["this very moment", 0, "is over"],
    ["too far ahead", 11 * 366 * 86_400_000, "10 years"],
  ])("is refused if its expiry is %s", async (_, ms, text) => {
    await expect(expiring(ms)).rejects.toMatchObject({
      code: "invalid_field",
      message: expect.stringContaining(text),
    });
    expect(await keys.list(1)).toEqual([]);
  });
});

describe("the rotation of a key", () => {
  const DAY = 86_400_000;

  it("makes a successor that is like the key, which works for the grace period", async () => {
    const expires_at = new Date(START + 90 * DAY).toISOString();
    const old = await keys.create(1, { name: "ci", scopes: ["ingest", "read"], expires_at }, LOCAL);
    time = START + 30 * DAY;
    const { key, replaced } = await keys.rotate(1, old.id, "1h", LOCAL);
    expect(key).toMatchObject({
      name: "ci",
      scopes: ["ingest", "read"],
      expires_at: new Date(START + 120 * DAY).toISOString(),
      replaced_by: null,
    });
    expect(replaced).toMatchObject({
      id: old.id,
      replaced_by: key.id,
      expires_at: new Date(START + 30 * DAY + 3_600_000).toISOString(),
    });
    expect((await keys.list(1)).map(({ id, replaced_by }) => [id, replaced_by])).toEqual([
      [key.id, null],
      [old.id, key.id],
    ]);
    for (const secret of [key.secret, old.secret])
      expect(await keys.verify(secret)).toMatchObject({ kind: "key" });
    time += 3_600_000;
    expect(await keys.verify(old.secret)).toMatchObject({ kind: "expired", replaced: true });
    expect(await keys.verify(key.secret)).toMatchObject({ kind: "key" });
    // The successor's successor lives as long again.
    const third = await keys.rotate(1, key.id, "24h", LOCAL);
    expect(third.key.expires_at).toBe(new Date(time + 90 * DAY).toISOString());
  });

  it("never prolongs a key, and makes no expiry up", async () => {
    const expires_at = new Date(START + 1_000).toISOString();
    const short = await keys.create(1, { name: "short", scopes: ["read"], expires_at }, LOCAL);
    expect((await keys.rotate(1, short.id, "7d", LOCAL)).replaced.expires_at).toBe(expires_at);
    const endless = await keys.create(1, { name: "endless", scopes: ["read"] }, LOCAL);
    expect((await keys.rotate(1, endless.id, "7d", LOCAL)).key.expires_at).toBeNull();
  });

  it("without a grace period ends the key at once, in every process", async () => {
    const old = await keys.create(1, { name: "ci", scopes: ["ingest"] }, LOCAL);
    const other = open();
    for (const each of [keys, other]) expect(await each.verify(old.secret)).toMatchObject({ kind: "key" });
    await keys.rotate(1, old.id, "now", LOCAL);
    expect(await keys.verify(old.secret)).toMatchObject({ kind: "expired" });
    expect(announced).toHaveLength(1);
    other.forget(announced[0]!);
    expect(await other.verify(old.secret)).toMatchObject({ kind: "expired" });
  });

  it("is refused for a key that is replaced, revoked, expired or another project's", async () => {
    const make = async (expires_at?: string) =>
      (await keys.create(1, { name: "ci", scopes: ["ingest"], expires_at }, LOCAL)).id;
    const replaced = await make();
    await keys.rotate(1, replaced, "24h", LOCAL);
    const revoked = await make();
    await keys.revoke(1, revoked, LOCAL);
    const expired = await make(new Date(START + 1).toISOString());
    time += 1;
    for (const id of [replaced, revoked, expired]) {
      await expect(keys.rotate(1, id, "24h", LOCAL)).rejects.toMatchObject({ code: "conflict" });
    }
    const foreign = await make();
    await expect(keys.rotate(2, foreign, "24h", LOCAL)).rejects.toMatchObject({ code: "not_found" });
    expect(await keys.list(1)).toHaveLength(5);
  });
});

describe("the audit log of keys", () => {
  it("has an entry for each change, and none for what changed nothing", async () => {
    const actor = { kind: "key", id: "k1", name: "ops" } as const;
    const { id, secret } = await keys.create(1, { name: "ci", scopes: ["ingest"] }, actor);
    const { key } = await keys.rotate(1, id, "now", actor);
    await keys.rotate(1, id, "now", actor).catch(() => {});
    await keys.revoke(1, key.id, actor);
    await keys.revoke(1, key.id, actor);
    const entries = await database.prisma.auditEntry.findMany({
      where: { actorId: "k1" },
      orderBy: { id: "asc" },
    });
    expect(entries.map(({ action, target }) => [action, target])).toEqual([
      ["key_created", "ci"],
      ["key_rotated", "ci"],
      ["key_revoked", "ci"],
    ]);
    for (const entry of entries) expect(entry).toMatchObject({ actor: "key", actorName: "ops", project: 1 });
    expect(JSON.stringify(entries)).not.toContain(secret.slice(13));
    expect(JSON.stringify(entries)).not.toContain(key.secret.slice(13));
  });

  it("is written with the change or not at all", async () => {
    const actor = { kind: "key", id: "x", name: "ops" } as const;
    await database.prisma.$executeRaw`ALTER TABLE audit_entries RENAME TO away`;
    try {
      await expect(keys.create(1, { name: "ci", scopes: ["ingest"] }, actor)).rejects.toThrow();
    } finally {
      await database.prisma.$executeRaw`ALTER TABLE away RENAME TO audit_entries`;
    }
    expect(await keys.list(1)).toEqual([]);
  });
});
