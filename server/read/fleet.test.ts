import { afterAll, beforeAll, expect, test } from "vitest";
import { PolicyBook } from "../lines/policy-book.ts";
import type { FreshReader } from "../lines/reader.ts";
import { emptyTables } from "../testing/dump.ts";
import { type TestIngest, type TestPipeline, testIngest } from "../testing/ingest.ts";
import { readBreakdown } from "./breakdown.ts";
import { readFleet } from "./fleet.ts";
import { readStatus } from "./status.ts";

const MINUTE = 60_000;
let path: TestIngest;
let server: TestPipeline;

beforeAll(async () => {
  path = await testIngest();
  server = await path.start();
});
afterAll(async () => {
  await server?.close();
  await path?.close();
});

let serial = 0;
const reader = (): FreshReader => ({
  prisma: path.prisma,
  projectId: 1,
  policy: PolicyBook.empty,
  now: Date.now(),
  lag: { events: 0, ms: 0 },
});
/** An event of a session, some ms ago. */
const event = (session: string, type: string, ago: number, more: object) => {
  serial += 1;
  return { id: `e${serial}`, at: Date.now() - ago, harness: "claude-code@1", session, type, ...more };
};
const turn = (session: string, ago: number, tokens: number, window = 200_000) =>
  event(session, "turn", ago, { model: "m", context_window: window, usage: { input_tokens: tokens } });
/** A session of this test, so that tests do not see each other's agents. */
const name = () => `session-${++serial}`;
const rowOf = async (session: string) => {
  const { agents } = await readFleet(reader(), { limit: 500 });
  return agents.find((agent) => agent.session === session);
};

test("history that is sent late is not live, whatever is received", async () => {
  const session = name();
  await server.send(turn(session, 90 * MINUTE, 1_000), turn(session, 40 * MINUTE, 2_000));
  expect(await rowOf(session)).toBeUndefined();
  await server.send(turn(session, MINUTE, 3_000));
  expect(await rowOf(session)).toMatchObject({ context_tokens: 3_000 });
});

test("an agent whose clock is two hours behind is live, at the time of the receipt", async () => {
  const session = name();
  await server.send(turn(session, 150 * MINUTE, 1_000));
  expect(await rowOf(session)).toBeUndefined();
  // As if the first event had been received half an hour ago.
  await path.prisma.$executeRaw`UPDATE agents SET first_received_at = now() - interval '30 min'
    WHERE session_id = (SELECT id FROM sessions WHERE name = ${session})`;
  // The projector remembers its rows; a new one reads them.
  await server.close();
  server = await path.start();
  await server.send(turn(session, 120 * MINUTE, 2_000));
  const row = (await rowOf(session))!;
  expect(Date.now() - Date.parse(row.active_at)).toBeLessThan(5 * MINUTE);
  expect(Date.parse(row.last_at)).toBeLessThan(Date.now() - 100 * MINUTE);
});

test("a cache lives five minutes from the latest call, until a boundary", async () => {
  const session = name();
  const cached = (ago: number, cache_read_tokens: number) => {
    const usage = { input_tokens: 100, cache_read_tokens, cache_write_tokens: 900, basis: "exclusive" };
    return event(session, "turn", ago, { model: "m", context_window: 200_000, usage });
  };
  const last = cached(MINUTE, 5_000);
  await server.send(cached(2 * MINUTE, 4_000), last);
  expect((await rowOf(session))!.cache).toEqual({
    tokens: 5_900,
    cold_at: new Date(last.at + 5 * MINUTE).toISOString(),
  });
  await server.send(event(session, "compacted", 0, { trigger: "auto" }));
  expect((await rowOf(session))!.cache).toBeNull();
  const uncached = name();
  await server.send(turn(uncached, MINUTE, 9_000));
  expect((await rowOf(uncached))!.cache).toBeNull();
});

test("a cache that was written for an hour lives so long", async () => {
  const session = name();
  const cached = (ago: number, read: number, hour?: number) => {
    const usage = { input_tokens: 100, cache_read_tokens: read, cache_write_tokens: 900, basis: "exclusive" };
    return event(session, "turn", ago, {
      ...{ model: "m", context_window: 200_000 },
      usage: { ...usage, ...(hour !== undefined && { cache_write_1h_tokens: hour }) },
    });
  };
  const last = cached(9 * MINUTE, 5_000, 900);
  await server.send(cached(20 * MINUTE, 4_100, 900), last);
  const life = { tokens: 5_900, cold_at: new Date(last.at + 60 * MINUTE).toISOString() };
  expect((await rowOf(session))!.cache).toEqual(life);
  // Another process reads the state from the database.
  await server.close();
  server = await path.start();
  const next = cached(8 * MINUTE, 5_900);
  await server.send(next);
  expect((await rowOf(session))!.cache).toEqual({
    tokens: 5_900,
    cold_at: new Date(next.at + 60 * MINUTE).toISOString(),
  });
});

test("silent and suspect agents come after the others", async () => {
  const [silent, suspect, low] = [name(), name(), name()];
  await server.send(
    turn(silent, 11 * MINUTE, 191_000),
    turn(suspect, MINUTE, 90_000, 10_000),
    turn(low, MINUTE, 1_000),
  );
  const { agents } = await readFleet(reader(), { limit: 500 });
  const order = agents.map(({ session }) => session).filter((one) => [silent, suspect, low].includes(one));
  expect(order).toEqual([low, suspect, silent]);
  // A wrong size is no maximum, neither now nor in the range.
  const range = {
    from: new Date(Date.now() - 60 * MINUTE).toISOString(),
    to: new Date(Date.now() + MINUTE).toISOString(),
  };
  const status = await readStatus(reader(), range);
  expect(status.suspects.count).toBe(1);
  expect(status.suspects.sessions[0]).toMatchObject({
    title: suspect,
    peak_tokens: 90_000,
    window_tokens: 10_000,
  });
  expect(status.utilization_now.highest).toBeLessThanOrEqual(1);
  expect(status.highest_load!.title).not.toBe(suspect);
  // Exact, although the level above 1 is in the same bucket of the rollups.
  expect(status.totals.peak_utilization).toBeCloseTo(0.955, 6);
});

test("a row has its latest levels, their falls and the last fall", async () => {
  const session = name();
  await server.send(
    turn(session, 5 * MINUTE, 100_000),
    turn(session, 4 * MINUTE, 120_000),
    event(session, "compacted", 3 * MINUTE, {
      trigger: "auto",
      tokens_before: 120_000,
      tokens_after: 28_000,
    }),
    turn(session, 2 * MINUTE, 28_000),
    turn(session, MINUTE, 20_000),
  );
  expect(await rowOf(session)).toMatchObject({
    recent: {
      levels: [100_000, 120_000, 28_000, 20_000],
      falls: [
        { index: 2, type: "compacted" },
        { index: 3, type: "unexplained" },
      ],
    },
    last_fall: { type: "unexplained", reclaimed_tokens: 8_000 },
    line: { tokens: 167_000, kind: "compaction", source: "default" },
  });
});

test("the forecast says minutes, and past the line leads to the end of the window", async () => {
  const session = name();
  const climb = (levels: number[]) =>
    levels.map((tokens, index) => turn(session, (levels.length - index) * MINUTE, tokens));
  await server.send(...climb([100_000, 110_000, 120_000, 130_000, 140_000]));
  expect((await rowOf(session))!.forecast).toMatchObject({ reason: "rising", turns: 3, end_turns: null });
  expect((await rowOf(session))!.forecast.minutes).toBeCloseTo(3, 1);
  const past = name();
  await server.send(
    ...[140_000, 150_000, 160_000, 170_000].map((tokens, index) => turn(past, (4 - index) * MINUTE, tokens)),
  );
  const { forecast } = (await rowOf(past))!;
  expect(forecast).toMatchObject({ reason: "over", turns: null, minutes: null, end_turns: 3 });
  expect(forecast.end_minutes).toBeCloseTo(3, 1);
});

test("restarts are counted in the range by harness and model, and agree with the totals", async () => {
  await emptyTables(path.prisma);
  await server.close();
  server = await path.start();
  const restart = (harness: string, session: string, ago: number) => ({
    ...event(session, "restarted", ago, {
      number: 2,
      previous_turns: 3,
      carryover_turns: 1,
      reason: "context",
    }),
    harness,
  });
  const at = (harness: string, session: string, ago: number) => ({ ...turn(session, ago, 9_000), harness });
  const sent = [
    ...["x", "y"].flatMap((session) => [
      at("a@1", session, 50 * MINUTE),
      restart("a@1", session, 40 * MINUTE),
    ]),
    at("b@1", "z", 50 * MINUTE),
    restart("b@1", "z", 40 * MINUTE),
    restart("b@1", "z", 3 * 60 * MINUTE),
  ];
  await server.send(...sent);
  const range = {
    from: new Date(Date.now() - 60 * MINUTE).toISOString(),
    to: new Date(Date.now() + MINUTE).toISOString(),
  };
  const by = "restarts" as const;
  const { rows, others, total } = await readBreakdown(reader(), { ...range, by });
  expect(rows).toEqual([
    { harness: "a@1", model: "m", value: 2, estimated: 0 },
    { harness: "b@1", model: "m", value: 1, estimated: 0 },
  ]);
  expect({ others, total }).toEqual({ others: 0, total: 3 });
  expect((await readStatus(reader(), range)).totals.restarts).toBe(3);
  expect((await readBreakdown(reader(), { ...range, by, harness: "b@1" })).rows).toEqual([rows[1]]);
});

test("cost and uncached tokens are summed by harness and the model of the turn, with how much of them is known", async () => {
  await emptyTables(path.prisma);
  await server.close();
  server = await path.start();
  const call = (harness: string, model: string, ago: number, usage: object, more: object = {}) => ({
    ...event("s", "turn", ago, { model, usage, ...more }),
    harness,
  });
  const models = Array.from({ length: 9 }, (_, number) => `m${number}`);
  await server.send(
    call("a@1", "big", 50 * MINUTE, { input_tokens: 1_000, cache_read_tokens: 900 }, { cost_usd: 0.5 }),
    call("a@1", "small", 40 * MINUTE, { input_tokens: 1_000 }, { estimated: true }),
    call(
      "b@1",
      "big",
      30 * MINUTE,
      { input_tokens: 10, cache_write_tokens: 90, basis: "exclusive" },
      { cost_usd: 0.25 },
    ),
    // Before the range.
    call("b@1", "big", 180 * MINUTE, { input_tokens: 5_000 }, { cost_usd: 9 }),
  );
  const range = {
    from: new Date(Date.now() - 60 * MINUTE).toISOString(),
    to: new Date(Date.now() + MINUTE).toISOString(),
  };
  expect(await readBreakdown(reader(), { ...range, by: "cost_usd", harness: "a@1" })).toMatchObject({
    rows: [{ harness: "a@1", model: "big", value: 0.5 }],
    others: 0,
    total: 0.5,
    known_share: 0.5,
  });
  expect(await readBreakdown(reader(), { ...range, by: "uncached_tokens" })).toMatchObject({
    rows: [
      { harness: "a@1", model: "small", value: 1_000 },
      { harness: "a@1", model: "big", value: 100 },
      { harness: "b@1", model: "big", value: 100 },
    ],
    total: 1_200,
    // Of the whole sessions: 1,000 of 7,100 tokens are an estimate.
    known_share: expect.closeTo(6_100 / 7_100, 6),
  });
  await server.send(
    ...models.map((model) => call("c@1", model, 5 * MINUTE, { input_tokens: 10 }, { cost_usd: 1 })),
  );
  const { rows, others, total } = await readBreakdown(reader(), { ...range, by: "cost_usd" });
  expect(rows.map(({ model }) => model)).toEqual(models.slice(0, 8));
  expect(total).toBeCloseTo(9.75);
  expect(others).toBeCloseTo(1.75);
});

test("a range without turns has no breakdown", async () => {
  const range = { from: "2020-01-01T00:00:00Z", to: "2020-01-02T00:00:00Z" };
  for (const by of ["restarts", "cost_usd", "uncached_tokens"] as const)
    expect(await readBreakdown(reader(), { ...range, by })).toMatchObject({
      rows: [],
      others: 0,
      total: 0,
      known_share: null,
    });
});
