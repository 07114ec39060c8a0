import { WITNESSES, type Witness } from "@plimsoll/protocol/events";
import fc from "fast-check";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type { PrismaClient } from "../../db/client.ts";
import { anyDelivery, deliver } from "../../testing/any-delivery.ts";
import { dumpTables, emptyTables } from "../../testing/dump.ts";
import { setTestWindows, type TestIngest, testIngest } from "../../testing/ingest.ts";
import { base, HOUR } from "../../testing/thread-turns.ts";
import { storedTurns } from "../../testing/turns.ts";

let path: TestIngest;
let prisma: PrismaClient;

beforeAll(async () => {
  path = await testIngest();
  prisma = path.prisma;
  await setTestWindows(prisma);
});
afterAll(() => path.close());

const maybe = <T>(value: fc.Arbitrary<T>) => fc.option(value, { nil: undefined });
const count = fc.integer({ min: 0, max: 12 }).map((step) => step * 900);

/** What one witness says of a call. Witnesses differ in what they count, in their clocks and in the window. */
const anyReport = fc.record({
  call: fc.integer({ min: 0, max: 9 }),
  witness: fc.constantFrom<Witness | undefined>(undefined, ...WITNESSES),
  late: fc.integer({ min: 0, max: 3 }),
  model: fc.constantFrom("model-a", "model-a", "model-c"),
  usage: fc.record({
    input_tokens: maybe(count),
    cache_read_tokens: maybe(count),
    cache_write_tokens: maybe(count),
    cache_write_1h_tokens: maybe(count),
    output_tokens: maybe(count),
    basis: maybe(fc.constantFrom("inclusive" as const, "exclusive" as const)),
  }),
  context_window: maybe(fc.constantFrom(10_000, 200_000)),
  estimated: maybe(fc.boolean()),
  composition: maybe(fc.constantFrom({ system: 10 }, { system: 5, tools: 20 })),
  composition_estimated: maybe(fc.boolean()),
  cost_usd: maybe(fc.constantFrom(0.25, 0.5)),
  duration_ms: maybe(fc.constantFrom(10, 20)),
  outcome: maybe(
    fc.record({ calls: fc.nat(2), failed: fc.nat(2), repeated: fc.nat(1) }, { requiredKeys: [] }),
  ),
  contents: maybe(fc.nat(3).map((tokens) => ({ parts: [{ kind: "user" as const, tokens }], largest: [] }))),
});

const events = fc.array(anyReport, { minLength: 1, maxLength: 40 }).map((reports) =>
  reports.map(({ call, late, ...report }) => ({
    ...base,
    ...report,
    type: "turn" as const,
    id: `req-${call}`,
    // The witnesses of one call may overtake those of the next.
    at: HOUR + call * 2_000 + late * 1_000,
  })),
);

describe("several witnesses of one session", () => {
  it("give the same database in any interleaving, batching and repetition", async () => {
    await fc.assert(
      fc.asyncProperty(events, anyDelivery(2, 3, 256), async (reports, delivery) => {
        await emptyTables(prisma);
        await path.sendOnce([...reports].sort((a, b) => a.at - b.at));
        const expected = await dumpTables(prisma);
        expect(expected.turns).toHaveLength(new Set(reports.map(({ id }) => id)).size);

        await emptyTables(prisma);
        await deliver(path, reports, delivery);
        expect(await dumpTables(prisma)).toEqual(expected);
      }),
      { numRuns: Number(process.env.FUZZ_RUNS ?? 6), endOnFailure: true },
    );
  }, 600_000);

  it("count its tokens and its cost once", async () => {
    await emptyTables(prisma);
    const call = { ...base, type: "turn", id: "req-1", at: HOUR, model: "model-a" };
    const usage = { input_tokens: 100, cache_read_tokens: 8_000, output_tokens: 9, basis: "exclusive" };
    const server = await path.start();
    await server.send({ ...call, witness: "transcript", usage: { ...usage, output_tokens: 1 } });
    await server.send({ ...call, witness: "otlp", usage, cost_usd: 0.5, context_window: 10_000 });
    await server.send({ ...call, witness: "status_line", usage, context_window: 200_000 });
    await server.close();
    expect(await storedTurns(prisma)).toMatchObject([
      { contextTokens: 8_100, outputTokens: 9, costMicros: 500_000, windowTokens: 200_000 },
    ]);
    const [all] = await prisma.rollup.findMany({ where: { grain: 1, model: "" } });
    expect(all).toMatchObject({ turns: 1, peakTokens: 8_100 });
    expect(Number(all!.output)).toBe(9);
    expect(Number(all!.costMicros)).toBe(500_000);
  });
});
