import type { FallsQuery } from "@plimsoll/protocol/api";
import fc from "fast-check";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { PolicyBook } from "../lines/policy-book.ts";
import type { FreshReader } from "../lines/reader.ts";
import { type TestIngest, type TestPipeline, testIngest } from "../testing/ingest.ts";
import { until } from "../testing/until.ts";
import { readFalls } from "./falls.ts";

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

const iso = (minute: number) => new Date(NOW - 600 * MINUTE + minute * MINUTE).toISOString();
function falls(query: Partial<FallsQuery>, limits?: Parameters<typeof readFalls>[2]) {
  const reader: FreshReader = {
    prisma: path.prisma,
    projectId: 1,
    policy: PolicyBook.empty,
    now: NOW,
    lag: { events: 0, ms: 0 },
  };
  return readFalls(reader, { from: iso(-1), to: iso(601), ...query }, limits);
}

let serial = 0;
/** Per million tokens: 5 dollars of input, 0.5 read, 6.25 written, 25 of output. */
const OPUS = "claude-opus-4-6";

const event = (harness: string, minute: number, type: string, more: object) => ({
  id: `e${++serial}`,
  at: NOW - 600 * MINUTE + minute * MINUTE,
  harness,
  session: "s",
  type,
  ...more,
});
const usage = (read: number, written: number, output = 100) => ({
  input_tokens: 0,
  cache_read_tokens: read * 1_000,
  cache_write_tokens: written * 1_000,
  output_tokens: output,
  basis: "exclusive",
});

/** A turn of a cache that has all but what is written. Tokens in thousands. */
const turn = (harness: string, minute: number, tokens: number, written: number, more: object = {}) =>
  event(harness, minute, "turn", {
    model: OPUS,
    context_window: 200_000,
    usage: usage(tokens - written, written),
    ...more,
  });
const compacted = (harness: string, minute: number) =>
  event(harness, minute, "compacted", { trigger: "auto" });

/** Climbs to a level in steps of 20,000 tokens, one a minute. */
const climb = (harness: string, from: number, start: number, end: number) =>
  Array.from({ length: (end - start) / 20 + 1 }, (_, n) => turn(harness, from + n, start + 20 * n, 20));

describe("what falls were worth", () => {
  const harness = "worth@1";
  test("is nothing where no level fell", async () => {
    await server.send(...climb("steady@1", 0, 20, 100));
    expect(await falls({ harness: "steady@1" })).toMatchObject({
      complete: true,
      total: { falls: 0, freed: null, lasted_turns: null, cost_usd: 0 },
      rows: [],
      levels: [],
      falls: [],
    });
  });

  test("comes from the levels around them, the turns after them and the calls for them", async () => {
    await server.send(
      ...climb(harness, 0, 40, 160),
      // The summary reads 160,000 tokens from the cache and writes 4,000.
      turn(harness, 7, 160, 0, {
        purpose: "compaction",
        usage: usage(160, 0, 4_000),
      }),
      compacted(harness, 8),
      // Of 40,000 tokens, 30,000 are written.
      turn(harness, 9, 40, 30),
      ...climb(harness, 10, 60, 160),
      compacted(harness, 16),
      turn(harness, 17, 40, 30),
    );
    const { rows, falls: listed, total } = await falls({ harness });
    const [latest, first] = (await falls({ harness, session: await sessionOf(harness) })).falls;
    expect(first).toMatchObject({
      type: "compacted",
      tokens_before: 160_000,
      tokens_after: 40_000,
      turns_before: 7,
      turns_after: 7,
      over: true,
      // 144,000 tokens are reached with the sixth turn of 160,000.
      refill_turns: 7,
      summary_usd: 0.08 + 0.1,
      outcome: "paid_back",
      thrash: false,
    });
    expect(first!.rewrite_usd).toBeCloseTo((30_000 * 5.75) / 1e6, 9);
    expect(first!.saved_per_turn_usd).toBeCloseTo((120_000 * 0.5) / 1e6, 9);
    // 0.3525 dollars by 0.06 a turn.
    expect(first!.break_even_turns).toBe(6);
    expect(latest).toMatchObject({
      turns_after: 1,
      over: false,
      summary_usd: null,
      break_even_turns: 3,
      outcome: "pending",
    });
    // The next fall tells how long one lasted, wherever the range ends.
    const session = await sessionOf(harness);
    for (const minute of [9, 16]) expect((await falls({ session, to: iso(minute) })).falls).toEqual([first]);
    expect((await falls({ session, from: iso(9) })).falls).toEqual([latest]);
    expect(listed).toEqual([]);
    expect(rows).toMatchObject([
      { harness, model: OPUS, type: "compacted", falls: 2, freed: 0.75, lasted_turns: 7 },
    ]);
    expect(total).toMatchObject({
      refill_turns: 7,
      refilled: 1,
      outcomes: { paid_back: 1, pending: 1, not_paid_back: 0, unknown: 0 },
    });
  });

  test("a fall that did not pay comes first, and three that are full again at once are a thrash", async () => {
    const lossy = "lossy@1";
    const events = [...climb(lossy, 0, 100, 180)];
    for (const round of [0, 1, 2, 3]) {
      const at = 10 + round * 5;
      events.push(compacted(lossy, at), turn(lossy, at + 1, 170, 170));
    }
    await server.send(...events);
    const { falls: listed, total } = await falls({ harness: lossy });
    // The last one has not ended, and freed nothing.
    expect(total.outcomes).toMatchObject({ not_paid_back: 4 });
    expect(listed).toHaveLength(3);
    expect(listed.map(({ thrash }) => thrash).filter(Boolean)).toHaveLength(1);
    expect(listed[0]).toMatchObject({ outcome: "not_paid_back", refill_turns: 1 });
  });

  test("a late turn changes what follows from it", async () => {
    const late = "late@1";
    const all = [
      ...climb(late, 0, 20, 120),
      compacted(late, 7),
      turn(late, 8, 40, 30),
      turn(late, 9, 110, 70),
    ];
    const before = all.filter((_, index) => index !== 2);
    await server.send(...before);
    const session = await sessionOf(late);
    expect((await falls({ session })).falls).toMatchObject([
      { turns_before: 5, turns_after: 2, refill_turns: 2 },
    ]);
    await server.send(all[2]);
    expect((await falls({ session })).falls).toMatchObject([
      { turns_before: 6, turns_after: 2, refill_turns: 2 },
    ]);
  });

  test("without a price nothing is said of the money, and levels are grouped", async () => {
    const own = "own@1";
    const model = { model: "my-own-model" };
    await server.send(turn(own, 0, 120, 120, model), compacted(own, 1), turn(own, 2, 30, 30, model));
    expect(await falls({ harness: own })).toMatchObject({
      total: { outcomes: { unknown: 1 }, cost_usd: 0, saved_usd: 0, freed: 0.75 },
      levels: [{ from_tokens: 100_000, falls: 1 }],
    });
  });

  test("the turns of a sub-agent are not those of its parent", async () => {
    const nested = "nested@1";
    const sub = { agent: "sub", parent_agent: "main" };
    await server.send(
      turn(nested, 0, 100, 100),
      turn(nested, 1, 20, 20, sub),
      compacted(nested, 2),
      turn(nested, 3, 25, 5, sub),
      turn(nested, 4, 30, 20),
    );
    expect((await falls({ harness: nested, session: await sessionOf(nested) })).falls).toMatchObject([
      { agent: null, turns_before: 1, turns_after: 1 },
    ]);
  });

  test("a compaction has one count of what survived, whichever of its reports has it and in any order", async () => {
    const survived = { rule: { verbatim: 8, near: 1, absent: 3 }, file: { verbatim: 2, near: 0, absent: 2 } };
    const seen = { ...survived, prompt: null };
    for (const [place, order] of [
      [0, 1, 2],
      [2, 1, 0],
      [1, 2, 0],
    ].entries()) {
      const kept = `claude-code@kept${place}`;
      const hook = compacted(kept, 2);
      const recording = { ...compacted(kept, 2), at: hook.at + 900 };
      const late = [hook, recording, { ...recording, survived }];
      await server.send(turn(kept, 0, 100, 100), turn(kept, 1, 120, 20), turn(kept, 3, 30, 30));
      for (const index of [...order, ...order]) await server.send(late[index]);
      const { total, rows } = await falls({ harness: kept });
      expect(total).toMatchObject({ falls: 1, seen: 1, survived: seen });
      expect(rows).toMatchObject([{ type: "compacted", seen: 1, survived: seen }]);
      expect((await falls({ harness: kept, session: await sessionOf(kept) })).falls).toMatchObject([
        { survived: seen, unseen: null },
      ]);
    }
  });

  test("a fall says why what survived cannot be seen", async () => {
    for (const [harness, unseen] of [
      ["claude-code@unseen", "not_imported"],
      ["goose@unseen", "not_recorded"],
    ] as const) {
      await server.send(turn(harness, 0, 100, 100), compacted(harness, 1), turn(harness, 2, 30, 30));
      expect(await falls({ harness })).toMatchObject({
        total: { seen: 0, survived: { rule: null, prompt: null, file: null } },
      });
      expect((await falls({ harness, session: await sessionOf(harness) })).falls).toMatchObject([
        { survived: null, unseen },
      ]);
    }
  });

  test("how often calls repeat an earlier one around them", async () => {
    const busy = "busy@1";
    const calls = (repeated: number) => ({ outcome: { calls: 20, repeated } });
    expect((await falls({ harness: busy })).work).toBeNull();
    await server.send(
      turn(busy, 0, 100, 100, calls(0)),
      turn(busy, 1, 120, 20, calls(1)),
      compacted(busy, 2),
      turn(busy, 3, 30, 5, calls(9)),
      turn(busy, 4, 40, 10, calls(2)),
    );
    await until(async () => (await falls({ harness: busy })).work !== null);
    expect((await falls({ harness: busy })).work).toMatchObject({
      ...{ falls: 1, sessions: 1, before: 0.05, after: 0.45, verdict: "few_sessions" },
    });
    expect((await falls({ harness: busy, session: await sessionOf(busy) })).work).toBeNull();
  });

  test("how often calls go wrong around compactions, with rules put back and without", async () => {
    const failed = (count: number) => ({ outcome: { calls: 20, failed: count, rejected: 1 } });
    const session = async (harness: string, after: number, ...more: object[]) => {
      await server.send(
        turn(harness, 0, 120, 20, failed(1)),
        ...more,
        compacted(harness, 2),
        turn(harness, 3, 30, 5, failed(after)),
      );
    };
    const put = (harness: string, minute: number, counts: object) =>
      event(harness, minute, "reinjected", { tokens: 40, checkpoint: false, ...counts });
    await session("kept@1", 1, put("kept@1", 1.9, { rules: 2, lines: 1 }));
    await session("kept@2", 9);
    // Only a note came back, or it was long ago.
    await session("kept@3", 5, put("kept@3", 1.9, { checkpoint: true }), put("kept@3", 0.5, { rules: 1 }));
    await session("other@1", 9);
    const one = (harness: string) => falls({ harness });
    await until(
      async () => (await one("other@1")).reinjection === null && (await one("kept@3")).total.falls > 0,
    );
    await until(async () => (await falls({})).reinjection?.without?.falls === 2);
    expect((await falls({})).reinjection).toMatchObject({
      with: { falls: 1, sessions: 1, before: 0.1, after: 0.1, verdict: "few_sessions" },
      without: { falls: 2, sessions: 2, before: 0.1, after: 0.4 },
    });
    expect((await one("kept@1")).reinjection).toMatchObject({ with: { falls: 1 }, without: null });
    expect((await one("kept@2")).reinjection).toBeNull();
    const inSession = { harness: "kept@1", session: await sessionOf("kept@1") };
    expect((await falls(inSession)).reinjection).toBeNull();
  });
});

async function sessionOf(harness: string): Promise<string> {
  const { id } = await path.prisma.session.findFirstOrThrow({ where: { harness } });
  return id;
}

/** Falls and turns of some agents, some of them at the very same time, in any order and repeated. */
const anyFalls = fc
  .array(
    fc.record({
      ...{ minute: fc.nat(80), agent: fc.constantFrom("a", "b", "c"), tokens: fc.nat(9) },
      type: fc.constantFrom("turn", "turn", "turn", "turn", "compacted", "masked", "summary"),
      model: fc.constantFrom(OPUS, OPUS, "unlisted"),
      session: fc.constantFrom("s", "s", "t"),
      survived: fc.boolean(),
    }),
    { minLength: 30, maxLength: 90, size: "max" },
  )
  .chain((events) => fc.tuple(fc.shuffledSubarray(events, { minLength: 25 }), fc.subarray(events)))
  .map(([events, repeated]) => [...events, ...repeated]);

describe("falls that are packed with their agent", () => {
  const eventsOf = (harness: string, sent: typeof anyFalls extends fc.Arbitrary<infer All> ? All : never) =>
    sent.map(({ minute, agent, tokens, type, model, session, survived }) => {
      const at = Math.floor(minute / 2);
      const more = { session, agent, id: `${type}-${minute}-${agent}` };
      if (type === "turn") return turn(harness, at, 20 * tokens + 20, 20, { ...more, model });
      if (type === "summary")
        return turn(harness, at, 100, 0, {
          ...more,
          model,
          purpose: "compaction",
          usage: usage(100, 0, 900),
        });
      const counts = { rule: { verbatim: tokens, near: 1, absent: 0 } };
      const masked = { ...more, observations: 2 };
      if (type === "masked") return event(harness, at, "masked", masked);
      return event(harness, at, "compacted", {
        ...more,
        trigger: "auto",
        ...(survived && { survived: counts }),
      });
    });
  const uncounted = () => path.prisma.agent.count({ where: { uncounted: true } });
  /** As if some time had passed since agents were counted. */
  const counted = () =>
    until(async () => {
      await path.prisma
        .$executeRaw`UPDATE agent_outcomes SET counted_at = counted_at - interval '10 minutes'`;
      return (await uncounted()) === 0;
    });
  /** As if these agents had changed a moment ago. */
  const changed = async (agents: readonly string[]) => {
    await path.prisma.$executeRaw`UPDATE agent_outcomes SET counted_at = now()`;
    await path.prisma
      .$executeRaw`UPDATE agents SET uncounted = true, last_received_at = now() WHERE name = ANY(${agents})`;
  };

  let draws = 0;
  test("are the same as those read one by one", { timeout: 300_000 }, async () => {
    let found = 0;
    const range = fc.tuple(fc.integer({ min: -1, max: 20 }), fc.integer({ min: 10, max: 42 }));
    await fc.assert(
      fc.asyncProperty(
        anyFalls,
        range,
        fc.array(fc.constantFrom("a", "b", "c"), { minLength: 1 }),
        fc.integer({ min: 1, max: 9 }),
        fc.boolean(),
        async (sent, [from, minutes], some, most, isDeleted) => {
          const harness = `packed@${++draws}`;
          const events = eventsOf(harness, sent);
          const half = events.length >> 1;
          await server.send(...events.slice(0, half));
          await counted();
          await server.send(...events.slice(half));
          await counted();
          if (isDeleted)
            await path.prisma.session.updateMany({
              where: { harness, name: "t" },
              data: { deletedAt: new Date() },
            });
          const query = { harness, from: iso(from), to: iso(from + minutes) };
          const session = await sessionOf(harness);
          const answers = async () => ({
            all: await falls(query),
            ofSession: await falls({ ...query, session }),
            ...{ inPages: await falls(query, { falls: 1_000, page: 1 }) },
          });
          const latest = async () => {
            const { falls: _, ...sums } = await falls(query, { falls: most, page: 1 });
            return sums;
          };
          const [packed, latestPacked] = [await answers(), await latest()];
          found += packed.all.total.falls;
          expect(packed.inPages).toEqual(packed.all);
          await changed(some);
          expect(await answers()).toEqual(packed);
          await changed(["a", "b", "c"]);
          expect(await answers()).toEqual(packed);
          expect(await latest()).toEqual(latestPacked);
        },
      ),
      { numRuns: Number(process.env.FUZZ_RUNS ?? 12), endOnFailure: true },
    );
    expect(found).toBeGreaterThan(20);
  });

  test("go on being followed when the agent has been idle for a day", async () => {
    const harness = "idle@1";
    await server.send(...climb(harness, 0, 40, 160), compacted(harness, 8), ...climb(harness, 9, 40, 160));
    await counted();
    const before = await falls({ harness });
    expect(before.total).toMatchObject({ falls: 1, refilled: 1, outcomes: { paid_back: 1 } });
    await path.prisma.$executeRaw`UPDATE agents SET state = NULL, has_state = false`;
    expect(await falls({ harness })).toEqual(before);
  });
});
