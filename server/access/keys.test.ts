import { pino } from "pino";
import { afterAll, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { PlimsollError } from "../errors.ts";
import { type TestDatabase, testDatabase } from "../testing/database.ts";
import { makeKey } from "./key-format.ts";
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
    const created = await keys.create(1, { name: "phantom", scopes: ["ingest", "read", "ingest"] });
    expect(created).toMatchObject({
      name: "phantom",
      prefix: created.secret.slice(0, 12),
      scopes: ["ingest", "read"],
      created_at: "2026-11-20T12:00:00.000Z",
      last_used_at: null,
      revoked_at: null,
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
    const { id, secret } = await keys.create(1, { name: "a", scopes: ["ingest"] });
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
    const { secret } = await keys.create(1, { name: "a", scopes: ["ingest"] });
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
    const { id, secret } = await keys.create(1, { name: "a", scopes: ["ingest"] });
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
    const { id, secret } = await keys.create(1, { name: "a", scopes: ["ingest"] });
    const other = open();
    const deaf = open();
    for (const each of [keys, other, deaf]) expect(await each.verify(secret)).toBeDefined();

    const revoked = await keys.revoke(1, id);
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
    expect((await keys.revoke(1, id)).revoked_at).toBe(revoked.revoked_at);
  });

  it("are not remembered from before a revocation that came while they were looked up", async () => {
    const { id, secret } = await keys.create(1, { name: "a", scopes: ["ingest"] });
    const other = open();
    const underWay = other.verify(secret);
    other.forget(null);
    await underWay;
    await keys.revoke(1, id);
    expect(await other.verify(secret)).toBeUndefined();
  });

  it("can be revoked only in their own project, and only if there", async () => {
    const { id } = await keys.create(1, { name: "a", scopes: ["ingest"] });
    await expect(keys.revoke(2, id)).rejects.toMatchObject({ code: "not_found" });
    await expect(keys.revoke(1, "00000000-0000-0000-0000-000000000000")).rejects.toBeInstanceOf(
      PlimsollError,
    );
    expect((await stored(id)).revokedAt).toBeNull();
  });
});
