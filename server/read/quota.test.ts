import fc from "fast-check";
import { afterAll, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { PolicyBook } from "../lines/policy-book.ts";
import { anyDelivery, deliver } from "../testing/any-delivery.ts";
import { emptyTables } from "../testing/dump.ts";
import { type TestIngest, testIngest } from "../testing/ingest.ts";
import { DAY_MS, HOUR_MS } from "../times.ts";
import { MOST_QUOTAS } from "../write/memory/memory.ts";
import { readQuota } from "./quota.ts";

let path: TestIngest;

beforeAll(async () => {
  path = await testIngest();
});
beforeEach(() => emptyTables(path.prisma));
afterAll(() => path?.close());

const NOW = Math.floor(Date.now() / 60_000) * 60_000;
const RESET = NOW + 2 * HOUR_MS;
const ACCOUNT = "0a".repeat(16);

let serial = 0;
const reading = (used_percent: number, more: object = {}) => ({
  ...{ type: "quota", id: `q${++serial}`, at: NOW - HOUR_MS + serial, harness: "claude-code@laptop" },
  ...{ provider: "anthropic", limit: "five_hour", window_minutes: 300, used_percent, resets_at: RESET },
  ...more,
});

async function quotas(now = Date.now()) {
  const reader = {
    prisma: path.prisma,
    projectId: 1,
    policy: PolicyBook.empty,
    now,
    lag: { events: 0, ms: 0 },
  };
  return (await readQuota(reader)).quotas;
}
const uses = async (now?: number) =>
  Object.fromEntries(
    (await quotas(now)).map(({ owner, limit, used_percent }) => [`${owner.id} ${limit}`, used_percent]),
  );

describe("a quota", () => {
  it("is what its provider said last, with its owner, its reset and the time of receipt", async () => {
    await path.sendOnce([reading(41.9)]);
    const [quota] = await quotas();
    expect(quota).toEqual({
      provider: "anthropic",
      limit: "five_hour",
      window_minutes: 300,
      owner: { kind: "machine", id: "laptop" },
      used_percent: 41,
      resets_at: new Date(RESET).toISOString(),
      read_at: expect.any(String),
      forecast: { reason: "not_before_reset", ends_at: null },
    });
    expect(Math.abs(Date.parse(quota!.read_at) - Date.now())).toBeLessThan(60_000);
  });

  it("belongs to an account, else to the machine that the event names, else to that of the harness", async () => {
    await path.sendOnce([
      reading(10, { account: ACCOUNT }),
      reading(20),
      reading(30, { machine: "desk" }),
      reading(40, { harness: "nameless" }),
    ]);
    expect(await uses()).toEqual({
      [`${ACCOUNT} five_hour`]: 10,
      "laptop five_hour": 20,
      "desk five_hour": 30,
      "nameless five_hour": 40,
    });
  });

  it("of two accounts on one machine are two", async () => {
    const other = "0b".repeat(16);
    await path.sendOnce([
      reading(80, { account: ACCOUNT }),
      reading(5, { account: other, resets_at: RESET + HOUR_MS }),
      reading(81, { account: ACCOUNT }),
    ]);
    expect(await uses()).toEqual({ [`${ACCOUNT} five_hour`]: 81, [`${other} five_hour`]: 5 });
  });

  it("begins from zero with a later reset, and an earlier one never comes back", async () => {
    const server = await path.start();
    await server.send(reading(97));
    await server.send(reading(3, { resets_at: RESET + 60_000 }));
    expect(await uses()).toEqual({ "laptop five_hour": 3 });
    // Even if a clock that is wrong dates it later.
    await server.send(reading(99, { at: Date.now() + 60_000 }));
    await server.close();
    expect(await uses()).toEqual({ "laptop five_hour": 3 });
    expect(await path.prisma.quotaPercent.count()).toBe(1);
  });

  it("does not fall within a window, whatever the clocks say", async () => {
    await path.sendOnce([reading(60, { at: NOW - DAY_MS }), reading(50, { at: NOW })]);
    expect(await uses()).toEqual({ "laptop five_hour": 60 });
  });

  it("says that it was reset and not read since, for seven days", async () => {
    await path.sendOnce([reading(60)]);
    const [quota] = await quotas(RESET);
    expect(quota).toMatchObject({ used_percent: 60, forecast: { reason: "reset", ends_at: null } });
    expect(await quotas(RESET + 7 * DAY_MS + 1)).toEqual([]);
  });

  it("is listed by its end", async () => {
    await path.sendOnce([
      reading(60, { limit: "slow", window_minutes: 121 }),
      reading(5, { limit: "slower", window_minutes: 121 }),
      reading(90, { limit: "fast" }),
      reading(100, { limit: "full" }),
      reading(100, { limit: "over", resets_at: NOW - HOUR_MS }),
    ]);
    expect((await quotas()).map(({ limit }) => limit)).toEqual(["full", "fast", "slow", "slower", "over"]);
  });

  it("is no session, agent or harness", async () => {
    await path.sendOnce([reading(60, { session: "s" })]);
    const counts = [path.prisma.session, path.prisma.agent, path.prisma.harness, path.prisma.boundary];
    expect(await Promise.all(counts.map((table) => (table as typeof path.prisma.session).count()))).toEqual([
      0, 0, 0, 0,
    ]);
  });

  it("is the same in any order, with repeats, batches and restarts of the server", async () => {
    const anyReading = fc
      .record({
        used: fc.integer({ min: 0, max: 110 }),
        reset: fc.nat(2),
        account: fc.boolean(),
        hour: fc.nat(3),
      })
      .map(({ used, reset, account, hour }) =>
        reading(used, {
          at: NOW - hour * HOUR_MS,
          resets_at: RESET - reset * HOUR_MS,
          ...(account && { account: ACCOUNT }),
        }),
      );
    await fc.assert(
      fc.asyncProperty(
        fc.array(anyReading, { minLength: 1, maxLength: 30 }),
        anyDelivery(256),
        async (events, delivery) => {
          await emptyTables(path.prisma);
          await deliver(path, events, delivery);
          const newest = new Map<string, (typeof events)[number]>();
          for (const event of events) {
            const key = "account" in event ? ACCOUNT : "laptop";
            const known = newest.get(key);
            const isNewer =
              known === undefined ||
              event.resets_at > known.resets_at ||
              (event.resets_at === known.resets_at && event.used_percent > known.used_percent);
            if (isNewer) newest.set(key, event);
          }
          expect(await uses()).toEqual(
            Object.fromEntries([...newest].map(([key, event]) => [`${key} five_hour`, event.used_percent])),
          );
        },
      ),
      { numRuns: Number(process.env.FUZZ_RUNS ?? 6), endOnFailure: true },
    );
  }, 600_000);

  it("has at most a row for each percent of its window", async () => {
    await path.sendOnce(Array.from({ length: 500 }, (_, n) => reading(n / 5 + 0.05)));
    expect(await path.prisma.quotaPercent.count()).toBe(100);
  });

  it("is left out where a sender makes up limits", async () => {
    await path.sendOnce(
      Array.from({ length: MOST_QUOTAS + 20 }, (_, n) => reading(n % 100, { limit: `l${n}` })),
    );
    expect(await quotas()).toHaveLength(MOST_QUOTAS);
    await path.sendOnce([reading(99, { limit: "l0" }), reading(99, { limit: "another" })]);
    expect(await uses()).toMatchObject({ "laptop l0": 99 });
    expect(await quotas()).toHaveLength(MOST_QUOTAS);
  });
});

describe("a reading that cannot be right", () => {
  it.each([
    ["a reset beyond the window", { resets_at: Date.now() + 7 * HOUR_MS }, "resets_at"],
    ["a reset in years", { window_minutes: undefined, resets_at: Date.UTC(2099, 0) }, "resets_at"],
    ["a reset in seconds", { resets_at: Math.floor(RESET / 1_000) }, "resets_at"],
    ["a negative use", { used_percent: -1 }, "used_percent"],
    ["no number", { used_percent: "41" }, "used_percent"],
    ["an id instead of a hash", { account: "ann@example.org" }, "account"],
    ["a name with a NUL", { limit: "five\u0000hour" }, "limit"],
    ["a window of no length", { window_minutes: 0 }, "window_minutes"],
  ])("with %s is rejected alone", async (_, more, field) => {
    const server = await path.start();
    const { accepted, rejected } = await server.send(reading(50, more), reading(20));
    await server.close();
    expect({ accepted, rejected }).toMatchObject({
      accepted: 1,
      rejected: [{ index: 0, code: "invalid_field", path: field }],
    });
    expect(await uses()).toEqual({ "laptop five_hour": 20 });
  });
});
