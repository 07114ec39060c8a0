import type { RebuildCause } from "@plimsoll/protocol/events";
import { afterAll, beforeAll, expect, test } from "vitest";
import { PolicyBook } from "../lines/policy-book.ts";
import type { FreshReader } from "../lines/reader.ts";
import { type TestIngest, type TestPipeline, testIngest } from "../testing/ingest.ts";
import { readRebuilds } from "./rebuilds.ts";

const MINUTE = 60_000;
const NOW = Date.now();
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

const rebuilds = (harness?: string) => {
  const reader: FreshReader = {
    prisma: path.prisma,
    projectId: 1,
    policy: PolicyBook.empty,
    now: NOW,
    lag: { events: 0, ms: 0 },
  };
  const iso = (at: number) => new Date(at).toISOString();
  return readRebuilds(reader, { from: iso(NOW - 24 * 60 * MINUTE), to: iso(NOW + MINUTE), harness });
};

let serial = 0;
const PRICED = "claude-opus-4-6";

/** A turn that read some tokens from a cache, wrote others to it, and sent ten that are in none. */
const turn = (harness: string, minute: number, read: number, written: number, more: object = {}) => ({
  id: `e${++serial}`,
  type: "turn",
  at: NOW - 600 * MINUTE + minute * MINUTE,
  harness,
  session: "s",
  model: PRICED,
  context_window: 200_000,
  usage: { input_tokens: 10, cache_read_tokens: read, cache_write_tokens: written, basis: "exclusive" },
  ...more,
});
const causesOf = async (harness: string) =>
  (await rebuilds(harness)).causes.map(({ cause, turns, tokens }) => [cause, turns, tokens]);

test("nothing was rebuilt where nothing was sent", async () => {
  expect(await rebuilds("nobody@1")).toMatchObject({
    total: { turns: 0, tokens: 0, usd: 0, priced_tokens: 0 },
    causes: [],
    rows: [],
  });
});

test("each cause has its turns and tokens, the most tokens first", async () => {
  const harness = "causes@1";
  await server.send(
    turn(harness, 0, 0, 20_000),
    turn(harness, 1, 20_000, 10_000),
    // Half an hour later.
    turn(harness, 31, 0, 31_000),
    turn(harness, 32, 31_000, 9_000),
    turn(harness, 33, 12_000, 29_000, { model: "claude-sonnet-4-5" }),
    turn(harness, 34, 41_000, 1_000, { model: "claude-sonnet-4-5" }),
    // The first message is not what it was.
    turn(harness, 35, 0, 43_000, { model: "claude-sonnet-4-5" }),
    turn(harness, 36, 25_000, 20_000, { model: "claude-sonnet-4-5" }),
  );
  expect(await causesOf(harness)).toEqual<[RebuildCause, number, number][]>([
    ["tools_or_system", 1, 42_000],
    ["idle", 1, 30_000],
    ["model_changed", 1, 28_000],
    ["edited", 1, 18_000],
  ]);
  const { total, rows } = await rebuilds(harness);
  // 5.75 dollars a million for 30,000 tokens of Opus, 3.45 for 88,000 of Sonnet.
  const usd = 0.1725 + 0.3036;
  expect(total).toMatchObject({ turns: 4, tokens: 118_000, priced_tokens: 118_000 });
  expect(total.usd).toBeCloseTo(usd, 9);
  expect(rows.map(({ model, tokens }) => [model, tokens])).toEqual([
    ["claude-sonnet-4-5", 88_000],
    [PRICED, 30_000],
  ]);
});

/** A turn that wrote a part of its tokens for an hour. */
const forHour = (harness: string, minute: number, read: number, written: number, hour: number) => {
  const one = turn(harness, minute, read, written);
  return { ...one, usage: { ...one.usage, cache_write_1h_tokens: hour } };
};

test("what was written for an hour costs more, also as a part of what a turn wrote", async () => {
  const harness = "hours@1";
  const written = (...counts: [minute: number, read: number, written: number, hour: number]) =>
    forHour(harness, ...counts);
  await server.send(
    written(0, 0, 20_000, 20_000),
    // All of it for an hour, a part, and none.
    written(70, 0, 21_000, 21_000),
    written(140, 0, 22_000, 8_000),
    written(210, 0, 30_000, 0),
  );
  const { total, causes } = await rebuilds(harness);
  expect(causes.map(({ cause, turns, tokens }) => [cause, turns, tokens])).toEqual([["idle", 3, 63_000]]);
  expect(total).toMatchObject({ turns: 3, tokens: 63_000, priced_tokens: 63_000 });
  // 9.5 dollars a million for what lives an hour, 5.75 for the rest.
  expect(total.usd).toBeCloseTo((28_000 * 9.5 + 35_000 * 5.75) / 1e6, 9);
});

test("a late turn leaves nothing of a rebuild that its writes for an hour explain otherwise", async () => {
  const harness = "late-hours@1";
  const first = forHour(harness, 0, 0, 20_000, 20_000);
  const cold = forHour(harness, 70, 0, 21_000, 8_000);
  await server.send(first, cold);
  expect(await causesOf(harness)).toEqual([["idle", 1, 20_000]]);
  // Within the hour: the prompt was changed, and what this call left is still there.
  await server.send(forHour(harness, 50, 0, 20_500, 20_500));
  expect(await causesOf(harness)).toEqual([["tools_or_system", 2, 40_500]]);
  const { total } = await rebuilds(harness);
  expect(total.usd).toBeCloseTo((28_000 * 9.5 + 12_500 * 5.75) / 1e6, 9);
});

test("what a model without a list price rebuilt counts in tokens, and is said to have none", async () => {
  const harness = "unpriced@1";
  const own = { model: "my-own-model" };
  await server.send(turn(harness, 0, 0, 20_000, own), turn(harness, 60, 0, 22_000, own));
  expect((await rebuilds(harness)).total).toEqual({ turns: 1, tokens: 20_000, usd: 0, priced_tokens: 0 });
});

test("a late turn and one that is sent twice leave what they would have left in order", async () => {
  const harness = "late@1";
  const turns = [
    turn(harness, 0, 0, 20_000),
    turn(harness, 2, 20_000, 1_000),
    turn(harness, 60, 0, 22_000),
    turn(harness, 61, 22_000, 1_000),
  ];
  await server.send(turns[3], turns[0]);
  await server.send(turns[2], turns[0]);
  await server.send(turns[1], turns[2], turns[3]);
  expect(await causesOf(harness)).toEqual([["idle", 1, 21_000]]);
});

test("a sub-agent's cache is not its parent's", async () => {
  const harness = "nested@1";
  const sub = { agent: "sub", parent_agent: "main" };
  await server.send(
    turn(harness, 0, 0, 50_000),
    turn(harness, 1, 0, 8_000, sub),
    turn(harness, 2, 50_000, 1_000),
    turn(harness, 3, 8_000, 500, sub),
  );
  expect(await causesOf(harness)).toEqual([]);
});
