import { SpendingQuery } from "@plimsoll/protocol/api";
import { afterAll, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { PolicyBook } from "../lines/policy-book.ts";
import { emptyTables } from "../testing/dump.ts";
import { type TestIngest, testIngest } from "../testing/ingest.ts";
import { readSpending } from "./spending.ts";

let path: TestIngest;

beforeAll(async () => {
  path = await testIngest();
});
beforeEach(() => emptyTables(path.prisma));
afterAll(() => path?.close());

let serial = 0;
/** A call that costs 0.75 dollars at list prices. */
const call = (at: string, more: object = {}) => ({
  ...{ type: "turn", id: `t${++serial}`, at: Date.parse(at), harness: "codex@one", session: "s" },
  ...{ model: "claude-opus-4-6", usage: { input_tokens: 100_000, output_tokens: 10_000 } },
  ...more,
});

const RANGE = { from: "2026-11-20T10:00:00Z", to: "2026-11-21T10:00:00Z" };
async function spending(more: object = {}) {
  const now = Date.parse("2026-11-22T00:00:00Z");
  const reader = {
    prisma: path.prisma,
    projectId: 1,
    policy: PolicyBook.empty,
    now,
    lag: { events: 0, ms: 0 },
  };
  return readSpending(reader, SpendingQuery.parse({ ...RANGE, ...more }));
}
const days = async (more: object = {}) =>
  (await spending(more)).days.map(({ day, cost_usd, estimated_cost_usd, turns, unpriced_turns }) => [
    ...[day, cost_usd, estimated_cost_usd, turns, unpriced_turns],
  ]);

describe("spending", () => {
  it("is reported, else estimated, else unknown, by day", async () => {
    await path.sendOnce([
      call("2026-11-20T08:00:00Z", { cost_usd: 0.5 }),
      call("2026-11-20T12:00:00Z"),
      call("2026-11-20T23:30:00Z", { model: "my-own-model", harness: "other@one" }),
      call("2026-11-21T11:00:00Z", { usage: { input_tokens: 5 } }),
      call("2026-11-22T11:00:00Z", { cost_usd: 100 }),
    ]);
    expect(await days()).toEqual([
      ["2026-11-20", 0.5, 0.75, 3, 1],
      ["2026-11-21", 0, 0, 1, 1],
    ]);
    expect(await days({ harness: "other@one" })).toEqual([
      ["2026-11-20", 0, 0, 1, 1],
      ["2026-11-21", 0, 0, 0, 0],
    ]);
    expect(await days({ time_zone: "Asia/Kathmandu" })).toEqual([
      ["2026-11-20", 0.5, 0.75, 2, 0],
      ["2026-11-21", 0, 0, 2, 2],
    ]);
  });

  it("replaces an estimate by a report, whatever the order, the repetition and the batches", async () => {
    const at = "2026-11-20T12:00:00Z";
    const events = [
      call(at, { id: "a" }),
      call(at, { id: "a", cost_usd: 2 }),
      call(at, { id: "b", usage: { input_tokens: 50_000, output_tokens: 1 } }),
      call(at, { id: "b" }),
      call(at, { id: "c", model: "my-own-model" }),
    ];
    for (const order of [[...events, ...events], [...events, ...events].reverse()]) {
      await emptyTables(path.prisma);
      for (const event of order) await path.sendOnce([event]);
      expect(await days({ to: "2026-11-20T20:00:00Z" })).toEqual([["2026-11-20", 2, 0.75, 3, 1]]);
    }
  });

  it("counts a call once that two clocks date differently, whatever the order", async () => {
    const behind = call("2026-11-20T22:00:00Z", { id: "a", cost_usd: 2 });
    const right = { ...behind, at: Date.parse("2026-11-21T02:00:00Z") };
    const seen: unknown[] = [];
    for (const order of [
      [behind, right],
      [right, behind],
    ]) {
      await emptyTables(path.prisma);
      for (const event of order) await path.sendOnce([event]);
      const sums = await days();
      expect(sums.map(([, cost, , turns]) => [cost, turns]).sort()).toEqual([
        [0, 0],
        [2, 1],
      ]);
      seen.push(sums);
    }
    expect(seen[0]).toEqual(seen[1]);
  });

  it("has the latest days of a long range, and the budget of the project", async () => {
    await path.prisma.project.update({ where: { id: 1 }, data: { dailyBudgetUsd: 20 } });
    const long = await spending({ from: "1990-01-01T00:00:00Z" });
    expect([long.days.length, long.days.at(-1)!.day, long.budget_usd]).toEqual([92, "2026-11-21", 20]);
    await path.prisma.project.update({ where: { id: 1 }, data: { dailyBudgetUsd: null } });
    expect((await spending()).budget_usd).toBeNull();
  });

  it.each(["Mars/Base", "+05:30", "", "UTC'; --", "x".repeat(65)])(
    "refuses the time zone %j",
    (time_zone) => {
      expect(SpendingQuery.safeParse({ ...RANGE, time_zone }).success).toBe(false);
    },
  );
});
