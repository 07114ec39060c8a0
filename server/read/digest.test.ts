import type { DigestQuery } from "@plimsoll/protocol/api";
import { digestPhrase } from "@plimsoll/protocol/api";
import fc from "fast-check";
import { afterAll, beforeAll, expect, test } from "vitest";
import { PolicyBook } from "../lines/policy-book.ts";
import type { FreshReader } from "../lines/reader.ts";
import { type TestIngest, type TestPipeline, testIngest } from "../testing/ingest.ts";
import { readDigest } from "./digest.ts";

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

const reader = (): FreshReader => ({
  prisma: path.prisma,
  projectId: 1,
  policy: PolicyBook.empty,
  now: Date.now(),
  lag: { events: 0, ms: 0 },
});

let serial = 0;
const event = (harness: string, session: string, type: string, ago: number, more: object = {}) => {
  serial += 1;
  return { id: `e${serial}`, at: Date.now() - ago, harness, session, type, ...more };
};
const turn = (harness: string, session: string, ago: number, tokens: number, more: object = {}) =>
  event(harness, session, "turn", ago, {
    model: "m",
    context_window: 200_000,
    usage: { input_tokens: tokens },
    ...more,
  });
const since = (ago: number, more: Partial<DigestQuery> = {}): DigestQuery => ({
  from: new Date(Date.now() - ago).toISOString(),
  to: new Date(Date.now() + MINUTE).toISOString(),
  ...more,
});

test("tells what happened to each agent, as often as it did, and leaves out what was before", async () => {
  await server.send(
    // Falls twice without a cause, once of them before.
    turn("a@1", "falls", 100 * MINUTE, 36_000),
    turn("a@1", "falls", 90 * MINUTE, 4_000),
    turn("a@1", "falls", 50 * MINUTE, 35_000),
    turn("a@1", "falls", 40 * MINUTE, 3_000),
    // A sub-agent passes its line three times; its ceiling is below its hard threshold.
    turn("a@1", "falls", 50 * MINUTE, 1_000, { agent: "explore", parent_agent: "main" }),
    ...[45, 35, 25].flatMap((minutes) => [
      turn("a@1", "falls", minutes * MINUTE, 190_000, { agent: "explore", parent_agent: "main" }),
      event("a@1", "falls", "compacted", (minutes - 1) * MINUTE, {
        agent: "explore",
        trigger: "auto",
        tokens_before: 190_000,
        tokens_after: 10_000,
      }),
      turn("a@1", "falls", (minutes - 2) * MINUTE, 10_000, { agent: "explore", parent_agent: "main" }),
    ]),
    turn("b@1", "ends", 50 * MINUTE, 30_000),
    event("b@1", "ends", "restarted", 30 * MINUTE, {
      number: 2,
      previous_turns: 3,
      carryover_turns: 1,
      reason: "context",
    }),
    turn("b@1", "ends", 29 * MINUTE, 2_500),
    event("b@1", "ends", "session", 20 * MINUTE, { status: "ended", reason: "quota" }),
    turn("b@1", "before", 300 * MINUTE, 30_000),
    event("b@1", "before", "session", 200 * MINUTE, { status: "ended" }),
  );
  const { counts, items } = await readDigest(reader(), since(60 * MINUTE));
  expect(counts).toEqual({
    alert: { times: 0, subjects: 0 },
    unexplained: { times: 1, subjects: 1 },
    past_line: { times: 3, subjects: 1 },
    restarted: { times: 1, subjects: 1 },
    ended: { times: 1, subjects: 1 },
    harness: { times: 2, subjects: 2 },
  });
  expect(digestPhrase(counts)).toBe(
    "1 fall without a cause, 1 agent past its line, 1 restart, 1 session ended and 2 new harnesses",
  );
  expect(items).toMatchObject([
    {
      kind: "unexplained",
      times: 1,
      title: "falls",
      agent: null,
      tokens_before: 35_000,
      tokens_after: 3_000,
    },
    { kind: "past_line", times: 3, title: "falls", agent: "explore", harness: "a@1", tokens_before: 190_000 },
    { kind: "restarted", title: "ends", agent: null, times: 1 },
    { kind: "ended", title: "ends", text: "quota" },
    { kind: "harness" },
    { kind: "harness" },
  ]);
  expect(Date.parse(items[1]!.last_at) - Date.parse(items[1]!.first_at)).toBeGreaterThan(10 * MINUTE);
  const ofB = await readDigest(reader(), since(60 * MINUTE, { harness: "b@1" }));
  expect(ofB.items.map(({ kind }) => kind)).toEqual(["restarted", "ended", "harness"]);
  const wide = await readDigest(reader(), since(400 * MINUTE));
  expect(wide.counts.unexplained).toEqual({ times: 2, subjects: 1 });
  expect(wide.counts.ended).toEqual({ times: 2, subjects: 2 });
});

test("tells of at most 30 subjects of a kind, and counts them all", async () => {
  await server.send(
    ...Array.from({ length: 45 }, (_, index) => [
      turn("many@1", `m${index}`, 10 * MINUTE, 1_000),
      event("many@1", `m${index}`, "session", 5 * MINUTE - index, { status: "ended" }),
    ]).flat(),
  );
  const { counts, items } = await readDigest(reader(), since(60 * MINUTE, { harness: "many@1" }));
  expect(counts.ended).toEqual({ times: 45, subjects: 45 });
  const ended = items.filter(({ kind }) => kind === "ended");
  expect(ended).toHaveLength(30);
  expect(ended[0]).toMatchObject({ title: "m44" });
});

test("a removed session is not told of", async () => {
  await server.send(
    turn("gone@1", "gone", 10 * MINUTE, 1_000),
    event("gone@1", "gone", "session", 5 * MINUTE, { status: "ended" }),
  );
  await path.prisma.session.updateMany({ where: { name: "gone" }, data: { deletedAt: new Date() } });
  expect((await readDigest(reader(), since(60 * MINUTE, { harness: "gone@1" }))).counts.ended.times).toBe(0);
});

test("a digest names each kind that happened, and nothing else", () => {
  const counts = fc.record({
    alert: fc.nat(3),
    unexplained: fc.nat(3),
    past_line: fc.nat(3),
    restarted: fc.nat(3),
    ended: fc.nat(3),
    harness: fc.nat(3),
  });
  fc.assert(
    fc.property(counts, (times) => {
      const all = Object.fromEntries(
        Object.entries(times).map(([kind, count]) => [kind, { times: count, subjects: count }]),
      ) as Parameters<typeof digestPhrase>[0];
      const phrase = digestPhrase(all);
      const numbers = [...(phrase?.matchAll(/\d+/g) ?? [])].map(Number);
      expect(numbers).toEqual(Object.values(times).filter((count) => count > 0));
      expect(phrase ?? "").not.toMatch(/^,|, and|and $|undefined/);
    }),
  );
});
