import { randomUUID } from "node:crypto";
import { pino } from "pino";
import { afterAll, beforeAll, beforeEach, describe, expect, it, vi } from "vitest";
import { type TestDatabase, testDatabase } from "../testing/database.ts";
import { until } from "../testing/until.ts";
import {
  afterChange,
  judgeLease,
  type Lease,
  LeaseLost,
  type LeaseRow,
  LeaseSeeker,
  type LeaseTable,
  observeLease,
  PATIENCE_MS,
  patienceOf,
  readContestedLeases,
} from "./lease.ts";
import { openWriters, type Writers } from "./sql.ts";

const NOW = Date.UTC(2026, 10, 20, 10);
const MINUTE = 60_000;

const row = (changed: Partial<LeaseRow> = {}): LeaseRow => ({
  holder: "alice",
  epoch: 3,
  beat: 7,
  patienceMs: PATIENCE_MS,
  renewedAt: NOW,
  changedAt: null,
  contestedAt: null,
  ...changed,
});

describe("the verdict on a lease", () => {
  const observed = { epoch: 3, beat: 7, since: 1_000, lookedAt: 3_900 };
  it.each([
    ["that was released", { holder: null }, 0, "released"],
    ["of this process", { holder: "bob" }, 0, "own"],
    ["without a beat for less than the patience", {}, 3_999, "alive"],
    ["without a beat for the patience", {}, 4_000, "silent"],
    ["with another beat", { beat: 8 }, 9_000, "alive"],
    ["with another epoch", { epoch: 4 }, 9_000, "alive"],
    ["that a clock dates in the future", { renewedAt: NOW + 86_400_000 }, 4_000, "silent"],
  ] as const)("%s", (_, changed, now, expected) => {
    expect(judgeLease(row(changed), { own: "bob", observed, patienceMs: 3_000, now })).toBe(expected);
  });

  it("counts no silence before this process looks regularly", () => {
    let observed = observeLease(row(), undefined, 0);
    observed = observeLease(row(), observed, 1_000);
    expect(observed.since).toBe(0);
    observed = observeLease(row(), observed, 60_000);
    expect(observed.since).toBe(60_000);
    expect(observeLease(row({ beat: 8 }), observed, 60_500).since).toBe(60_500);
  });
});

describe("the patience", () => {
  it.each([
    ["is 3 s", {}, 3_000],
    ["is longer after a contest", { patienceMs: 12_000, contestedAt: NOW - MINUTE }, 12_000],
    ["is 3 s again 10 minutes later", { patienceMs: 12_000, contestedAt: NOW - 11 * MINUTE }, 3_000],
    [
      "is 3 s if the contest is far in the future",
      { patienceMs: 9_000, contestedAt: NOW + 60 * MINUTE },
      3_000,
    ],
  ])("%s", (_, changed, expected) => {
    expect(patienceOf(row(changed), NOW)).toBe(expected);
  });
});

describe("a change of holder", () => {
  it.each([
    ["after a release is none", "released", NOW - 1_000, { changedAt: NOW - 1_000, contestedAt: null }],
    ["is noted", "silent", null, { changedAt: NOW, contestedAt: null }],
    ["after two minutes is no contest", "silent", NOW - 2 * MINUTE, { changedAt: NOW, contestedAt: null }],
    ["twice within a minute is a contest", "silent", NOW - 59_000, { changedAt: NOW, contestedAt: NOW }],
  ] as const)("%s", (_, verdict, changedAt, expected) => {
    expect(afterChange(row({ changedAt }), verdict, NOW)).toEqual(expected);
  });
});

describe.each<LeaseTable>(["projectors", "alert_evaluators"])("a lease in %s", (table) => {
  let database: TestDatabase;
  let writers: Writers;
  let monotonic = 0;
  let databaseTime = NOW;

  beforeAll(async () => {
    database = await testDatabase();
    writers = openWriters({ url: database.url, size: 6, log: pino({ level: "silent" }) });
  });
  afterAll(async () => {
    await writers.end();
    await database.close();
  });
  beforeEach(async () => {
    databaseTime = NOW;
    await database.prisma.$executeRawUnsafe(`TRUNCATE ${table}, rejected_events`);
  });

  const seeker = (holder = randomUUID(), projectId = 1, ask?: () => void) =>
    new LeaseSeeker({
      table,
      projectId,
      writers,
      holder,
      now: () => databaseTime,
      monotonic: () => monotonic,
      ...(ask && { ask }),
    });
  /** Looks every second, as a server does while work waits. */
  async function lookFor(one: LeaseSeeker, ms: number): Promise<Lease | undefined> {
    for (let passed = 0; passed <= ms; passed += 1_000) {
      monotonic += 1_000;
      const lease = await one.acquire();
      if (lease !== undefined) return lease;
    }
    return undefined;
  }
  const write = (lease: Lease, name = "row") =>
    lease.transaction(async (sql, prove) => {
      sql.send(
        "INSERT INTO rejected_events (project_id, id, received_at, error, event) VALUES (1, $1::uuid, now(), $2, '{}')",
        randomUUID(),
        name,
      );
      await prove();
    });
  const written = async () =>
    (await database.prisma.rejectedEvent.findMany({ select: { error: true } })).map(({ error }) => error);

  it("has one holder, until nobody saw it beat for the patience", async () => {
    const first = (await seeker().acquire())!;
    expect(first.epoch).toBe(1);
    const bob = seeker();
    expect(await lookFor(bob, 1_000)).toBeUndefined();
    await write(first);
    expect(await lookFor(bob, 2_000)).toBeUndefined();
    expect(await lookFor(bob, 2_000)).toMatchObject({ epoch: 2 });
  });

  it("goes to one of several that ask at once", async () => {
    const asked = await Promise.all(Array.from({ length: 5 }, () => seeker().acquire()));
    expect(asked.filter((lease) => lease !== undefined)).toHaveLength(1);
    const silent = Array.from({ length: 5 }, () => seeker());
    for (let look = 0; look < 4; look++) {
      monotonic += 1_000;
      const taken = await Promise.all(silent.map((one) => one.acquire()));
      expect(taken.filter((lease) => lease !== undefined)).toHaveLength(look === 3 ? 1 : 0);
    }
  });

  it("is one a project", async () => {
    expect(await seeker(randomUUID(), 1).acquire()).toBeDefined();
    expect(await seeker(randomUUID(), 2).acquire()).toBeDefined();
  });

  it("is not taken while a transaction of its holder is under way, however long", async () => {
    const lease = (await seeker().acquire())!;
    const bob = seeker();
    let commit = () => {};
    let lock = () => {};
    const locked = new Promise<void>((resolve) => {
      lock = resolve;
    });
    const held = lease.transaction(async (sql, prove) => {
      await prove();
      lock();
      const open = new Promise<void>((resolve) => {
        commit = resolve;
      });
      while (true) {
        const first = await Promise.race([open.then(() => "commit"), sql.query("SELECT pg_sleep(0.05)")]);
        if (first === "commit") return;
      }
    });
    await locked;
    await lookFor(bob, 2_000);
    monotonic += 1_000;
    const attempt = bob.acquire();
    // Waits for the row. On Citus, the lock is on a worker.
    await until(async () => {
      const rows = await writers.query(
        "SELECT 1 FROM pg_stat_activity WHERE state = 'active' AND query LIKE '%SET holder = $2::uuid%' AND pid <> pg_backend_pid()",
      );
      return rows.length > 0;
    });
    commit();
    await held;
    expect(await attempt).toBeUndefined();
    await write(lease);
  });

  it("beats while its holder works, whatever the work is", async () => {
    const lease = (await seeker().acquire())!;
    const bob = seeker();
    await lookFor(bob, 2_000);
    lease.work();
    const beat = async () =>
      Number((await writers.query<{ beat: string }>(`SELECT beat FROM ${table}`))[0]!.beat);
    const before = await beat();
    await until(async () => (await beat()) > before);
    expect(await lookFor(bob, 1_000)).toBeUndefined();
    lease.rest();
  });

  it("of a holder that was replaced cannot write, and the holder learns it between transactions", async () => {
    const paused = (await seeker().acquire())!;
    const next = (await lookFor(seeker(), 4_000))!;
    await write(next, "after");
    await expect(write(paused, "woken")).rejects.toBeInstanceOf(LeaseLost);
    expect(() => paused.requireHeld()).toThrow(LeaseLost);
    expect(await written()).toEqual(["after"]);
    await write(next);
  });

  it("is held with more patience after a holder was replaced alive", async () => {
    let alive = (await seeker().acquire())!;
    for (const patienceMs of [3_000, 6_000, 12_000]) {
      const next = (await lookFor(seeker(), 2 * patienceMs))!;
      await expect(write(alive)).rejects.toBeInstanceOf(LeaseLost);
      const warn = vi.fn();
      await alive.contest({ warn });
      expect(warn).toHaveBeenCalledWith(
        { projectId: 1, patienceMs },
        expect.stringContaining(`took over ${table === "projectors" ? "the projection" : "the alert rules"}`),
      );
      alive = next;
    }
    const last = seeker();
    expect(await lookFor(last, 11_000)).toBeUndefined();
    expect(await lookFor(last, 2_000)).toBeDefined();
    databaseTime += 20 * MINUTE;
    expect(await lookFor(seeker(), 4_000)).toBeDefined();
  });

  it("is taken after the same silence if the database's clock was set back by a day", async () => {
    await seeker().acquire();
    databaseTime -= 86_400_000;
    expect(await lookFor(seeker(), 4_000)).toBeDefined();
  });

  it("has another epoch when the same holder takes it again, so that its older transactions fail", async () => {
    const [own, holder] = [seeker(), randomUUID()];
    await own.acquire();
    await lookFor(seeker(holder), 4_000);
    const first = (await seeker(holder).acquire())!;
    const second = (await seeker(holder).acquire())!;
    expect(second.epoch).toBe(first.epoch + 1);
    await expect(write(first)).rejects.toBeInstanceOf(LeaseLost);
  });

  it("is free at once after it was released, and only its holder can release it", async () => {
    const lease = (await seeker().acquire())!;
    const next = (await lookFor(seeker(), 4_000))!;
    await lease.release();
    expect(await seeker().acquire()).toBeUndefined();
    await next.release();
    expect(await seeker().acquire()).toMatchObject({ epoch: 3 });
    await expect(write(next)).rejects.toBeInstanceOf(LeaseLost);
  });

  it("asks a holder without work for a beat before it takes over", async () => {
    const lease = (await seeker().acquire())!;
    let asked = 0;
    const bob = seeker(randomUUID(), 1, () => {
      asked += 1;
    });
    expect(await lookFor(bob, 2_000)).toBeUndefined();
    expect(asked).toBe(3);
    await write(lease);
    expect(await lookFor(bob, 1_000)).toBeUndefined();
  });

  it("is reported as contested after two changes within a minute", async () => {
    databaseTime = Date.now();
    await seeker().acquire();
    await lookFor(seeker(), 4_000);
    expect(await readContestedLeases(writers)).toEqual([]);
    await lookFor(seeker(), 4_000);
    const work = table === "projectors" ? "projection" : "alerts";
    expect(await readContestedLeases(writers)).toMatchObject([{ projectId: 1, work }]);
    expect(await readContestedLeases(writers, 2)).toEqual([]);
    await writers.query(`UPDATE ${table} SET contested_at = now() - interval '6 minutes'`);
    expect(await readContestedLeases(writers)).toEqual([]);
  });
});
