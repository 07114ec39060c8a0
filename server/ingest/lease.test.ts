import { randomUUID } from "node:crypto";
import { pino } from "pino";
import { afterAll, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { openWriters, type Writers } from "../db/sql.ts";
import { type TestDatabase, testDatabase } from "../testing/database.ts";
import { acquireLease, LEASE_MS, type Lease, LeaseLost, proveLease, releaseLease } from "./lease.ts";

const NOW = Date.UTC(2026, 10, 20, 10);
const [ALICE, BOB] = [randomUUID(), randomUUID()];

let database: TestDatabase;
let writers: Writers;

beforeAll(async () => {
  database = await testDatabase();
  writers = openWriters({ url: database.url, size: 4, log: pino({ level: "silent" }) });
});
afterAll(async () => {
  await writers.end();
  await database.close();
});
beforeEach(() => database.prisma.$executeRawUnsafe("TRUNCATE projectors, rejected_events"));

const acquire = (holder: string, at: number, projectId = 1) =>
  acquireLease(writers, projectId, holder, NOW + at);
/** Writes one row under the lease. */
const write = (lease: Lease, at: number, name = "row") =>
  writers.transaction(async (sql) => {
    sql.send(
      "INSERT INTO rejected_events (project_id, id, received_at, error, event) VALUES ($1, $2::uuid, now(), $3, '{}')",
      lease.projectId,
      randomUUID(),
      name,
    );
    await proveLease(sql, lease, NOW + at);
  });

describe("the lease of a project", () => {
  it("has one holder, until the holder was silent for the length of the lease", async () => {
    const first = await acquire(ALICE, 0);
    expect(first).toMatchObject({ holder: ALICE, epoch: 1 });
    expect(await acquire(BOB, LEASE_MS)).toBeUndefined();
    expect(await acquire(BOB, LEASE_MS + 1)).toMatchObject({ holder: BOB, epoch: 2 });
    expect(LEASE_MS).toBeLessThan(5_000);
  });

  it("goes to one of several that ask at once", async () => {
    const asked = await Promise.all(Array.from({ length: 8 }, () => acquire(randomUUID(), 0)));
    expect(asked.filter((lease) => lease !== undefined)).toHaveLength(1);
  });

  it("is one a project", async () => {
    expect(await acquire(ALICE, 0, 1)).toBeDefined();
    expect(await acquire(BOB, 0, 2)).toBeDefined();
  });

  it("is renewed by every transaction of the holder", async () => {
    const lease = (await acquire(ALICE, 0))!;
    await write(lease, 2_000);
    expect(await acquire(BOB, LEASE_MS + 1)).toBeUndefined();
    expect(await acquire(BOB, 2_000 + LEASE_MS + 1)).toBeDefined();
  });

  it("of a holder that was paused and replaced cannot write when the holder wakes", async () => {
    const paused = (await acquire(ALICE, 0))!;
    const next = (await acquire(BOB, LEASE_MS + 1))!;
    await write(next, LEASE_MS + 2, "after");
    await expect(write(paused, LEASE_MS + 3, "woken")).rejects.toBeInstanceOf(LeaseLost);
    const rows = await database.prisma.rejectedEvent.findMany({ select: { error: true } });
    expect(rows).toEqual([{ error: "after" }]);
    await write(next, LEASE_MS + 4);
  });

  it("has another epoch when the same holder takes it again, so that its older transactions fail", async () => {
    const first = (await acquire(ALICE, 0))!;
    const second = (await acquire(ALICE, 1))!;
    expect(second.epoch).toBe(2);
    await expect(write(first, 2)).rejects.toBeInstanceOf(LeaseLost);
  });

  it("is free at once after it was released, and cannot be released by another", async () => {
    const lease = (await acquire(ALICE, 0))!;
    await releaseLease(writers, { ...lease, holder: BOB });
    await releaseLease(writers, { ...lease, epoch: 9 });
    expect(await acquire(BOB, 1)).toBeUndefined();
    await releaseLease(writers, lease);
    expect(await acquire(BOB, 1)).toMatchObject({ epoch: 2 });
  });
});
