import type { AlertRuleInput } from "@plimsoll/protocol/alerts";
import type { AlertBacktest } from "@plimsoll/protocol/api";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { queriesOf } from "../../db/sql.ts";
import { PolicyBook } from "../../lines/policy-book.ts";
import { type TestAlerts, testAlerts } from "../../testing/alerts.ts";
import { AlertBacktests } from "./backtests.ts";

const MINUTE = 60_000;
const START = Date.UTC(2026, 9, 1);
const SPAN = { from: START, to: START + 86_400_000 };

let alerts: TestAlerts;
let policy: PolicyBook;
let backtests: AlertBacktests;

const base = { harness: "phantom@one", session: "s" };
const turn = (minute: number, tokens: number, more: object = {}) => ({
  ...base,
  id: `t${minute}`,
  type: "turn",
  at: START + minute * MINUTE,
  model: "m",
  context_window: 10_000,
  usage: { input_tokens: tokens },
  ...more,
});
const own = { harness: "own@three", session: "lines of its own" };
const compacted = (minute: number, before: number, after: number) => ({
  ...base,
  id: `c${minute}`,
  type: "compacted",
  at: START + minute * MINUTE + 1,
  trigger: "auto",
  tokens_before: before,
  tokens_after: after,
});

beforeAll(async () => {
  alerts = await testAlerts();
  // Above the ceiling of 2,000 from minute 2 to 4, and from minute 7 until the session ends in minute 20.
  await alerts.pipeline.send(
    turn(0, 1_000),
    turn(1, 1_900),
    turn(2, 2_100),
    turn(3, 1_950),
    turn(4, 500),
    turn(5, 1_000),
    compacted(5, 1_000, 990),
    turn(6, 990),
    turn(7, 2_500, { usage: { input_tokens: 2_500, cache_read_tokens: 0, cache_write_tokens: 0 } }),
    turn(8, 2_600, { usage: { input_tokens: 2_500, cache_read_tokens: 100, cache_write_tokens: 0 } }),
    { ...base, id: "e", type: "session", at: START + 20 * MINUTE, status: "ended" },
    turn(0, 5_000, { session: "other", harness: "ouroboros@two" }),
    // This harness says that its line is at 6,000 tokens, before its first turn.
    ...[4_000, 5_500, 5_900].map((tokens, minute) => turn(minute, tokens, own)),
    {
      ...own,
      id: "line",
      type: "threshold_crossed",
      at: START - 30_000,
      threshold: "ceiling",
      direction: "down",
      threshold_tokens: 6_000,
      context_tokens: 4_000,
    },
  );
  policy = await PolicyBook.read(queriesOf(alerts.ingest), 1);
  backtests = new AlertBacktests(alerts.ingest.databaseUrl);
});
afterAll(() => alerts?.close());

const run = (rule: Partial<AlertRuleInput>, span = SPAN): Promise<AlertBacktest> =>
  backtests.run(
    { projectId: 1, policy },
    { rule: { name: "x", scope: { family: "phantom" }, ...rule }, span },
  );

/** Minutes of each firing, oldest first. */
async function minutes(rule: Partial<AlertRuleInput>, span = SPAN): Promise<number[][]> {
  const { firings } = await run(rule, span);
  return firings
    .map(({ fired_at, ended_at }) =>
      [fired_at, ended_at].flatMap((at) => (at === null ? [] : [(Date.parse(at) - START) / MINUTE])),
    )
    .reverse();
}

describe("a backtest", () => {
  it("finds what recorded crossings would have told, with its length and a link", async () => {
    const condition = { type: "threshold", threshold: "line" } as const;
    const result = await run({ condition });
    expect(result).toMatchObject({
      count: 2,
      longest_ms: 13 * MINUTE,
      brief: 0,
      examined: { agents: 1, turns: 9 },
      complete: true,
    });
    expect(await minutes({ condition })).toEqual([
      [2, 4],
      [7, 20],
    ]);
    expect(result.firings[0]).toMatchObject({
      session: "s",
      agent: "main",
      why: "2,500 context tokens crossed the ceiling (2,000 tokens)",
    });
    expect(result.firings[0]!.path).toMatch(/^\/sessions\/[0-9a-f-]{36}\?agent=[0-9a-f-]{36}&turn=/);
  });

  it("counts levels, turns and the times of the rule", async () => {
    const tokens = (at_least: number, turns = 1) => ({ type: "tokens", at_least, turns }) as const;
    expect(await minutes({ condition: tokens(2_000) })).toEqual([
      [2, 4],
      [7, 20],
    ]);
    expect(await minutes({ condition: tokens(2_000, 2) })).toEqual([[8, 20]]);
    expect(await minutes({ condition: tokens(2_000), for: "5m" })).toEqual([[12, 20]]);
    expect(await minutes({ condition: tokens(2_000), keep_firing_for: "90s" })).toEqual([
      [2, 5.5],
      [7, 20],
    ]);
    expect(await minutes({ condition: { type: "load", at_least: 1.25 } })).toEqual([[7, 20]]);
    // Cache reads are known from minute 7 on.
    expect(await minutes({ condition: { type: "cache_read_share", below: 0.5, turns: 2 } })).toEqual([
      [8, 20],
    ]);
  });

  it("measures levels against the line that the harness reported", async () => {
    const scope = { family: "own" };
    expect(await minutes({ scope, condition: { type: "load", at_least: 0.9, turns: 1 } })).toEqual([[1]]);
    expect(await minutes({ scope, condition: { type: "load", at_least: 0.99, turns: 1 } })).toEqual([]);
  });

  it("finds boundaries, for the time that they count as present", async () => {
    const [first, ...others] = await minutes({ condition: { type: "small_reclaim", below_tokens: 50 } });
    expect(others).toEqual([]);
    expect(first![0]).toBeCloseTo(5, 2);
    expect(first![1]).toBeCloseTo(15, 2);
    expect(await minutes({ condition: { type: "small_reclaim", below_tokens: 10 } })).toEqual([]);
  });

  it("examines the span and the scope alone", async () => {
    const condition = { type: "tokens", at_least: 2_000 } as const;
    expect(await minutes({ condition }, { from: START, to: START + 6 * MINUTE })).toEqual([[2, 4]]);
    expect(await run({ condition, scope: {} })).toMatchObject({ count: 4, examined: { agents: 3 } });
    expect(await run({ condition, scope: { family: "nobody" } })).toMatchObject({ count: 0, complete: true });
  });

  it("refuses a rule about what is not recorded, a wrong rule, and more than two at a time", async () => {
    const condition = { type: "backlog", older_than: "1m" } as const;
    await expect(run({ condition, scope: {} })).rejects.toMatchObject({ code: "bad_request" });
    await expect(run({ condition: { type: "load", at_least: 90 } })).rejects.toMatchObject({
      code: "invalid_alert_rule",
    });
    const many = await Promise.allSettled(
      Array.from({ length: 5 }, () => run({ condition: { type: "window_suspect" } })),
    );
    expect(many.filter(({ status }) => status === "fulfilled")).toHaveLength(2);
    await run({ condition: { type: "window_suspect" } });
  });
});
