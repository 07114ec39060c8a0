import { contextTokens } from "@plimsoll/fold";
import fc from "fast-check";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type { PrismaClient } from "../../db/client.ts";
import { crossingOriginCode } from "../../db/tables/codes.ts";
import { anyDelivery, deliver } from "../../testing/any-delivery.ts";
import { anyEvent, distinctMarks } from "../../testing/any-events.ts";
import { dumpTables, emptyTables } from "../../testing/dump.ts";
import { setTestWindows, type TestIngest, testIngest } from "../../testing/ingest.ts";
import { base, HOUR, turn } from "../../testing/thread-turns.ts";
import { storedTurns } from "../../testing/turns.ts";

let path: TestIngest;
let prisma: PrismaClient;

beforeAll(async () => {
  path = await testIngest();
  prisma = path.prisma;
  await setTestWindows(prisma);
});
afterAll(() => path.close());

const send = (events: unknown[]) => path.sendOnce(events);

/** Each run empties the database, so looking for a smaller failure would take longer than the test may. */
const PARAMETERS = { numRuns: Number(process.env.FUZZ_RUNS ?? 6), endOnFailure: true };

describe("order, repetition and batching", () => {
  it("give the same database", async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.array(anyEvent, { minLength: 1, maxLength: 40 }).map(distinctMarks),
        anyDelivery(2, 3, 5, 256),
        async (events, delivery) => {
          await emptyTables(prisma);
          await send([...events].sort((a, b) => a.at - b.at));
          const expected = await dumpTables(prisma, { counts: false });

          await emptyTables(prisma);
          await deliver(path, events, delivery);
          expect(await dumpTables(prisma, { counts: false })).toEqual(expected);
        },
      ),
      PARAMETERS,
    );
  }, 600_000);

  it("move a report to a late turn from a level of an earlier segment", async () => {
    const at = (second: number) => HOUR + second * 1_000;
    const report = {
      ...base,
      id: "report",
      type: "threshold_crossed",
      at: at(4),
      threshold: "hard",
      direction: "up",
      threshold_tokens: 9_000,
      context_tokens: 9_100,
    };
    const inOrder = [
      turn(9_100, { id: "a", at: at(1) }),
      turn(9_200, { id: "b", at: at(2) }),
      report,
      ...[5, 6, 7, 8].map((second) => turn(9_300, { id: `t${second}`, at: at(second) })),
    ];
    const late = turn(9_100, { id: "late", at: at(3) });
    await emptyTables(prisma);
    await send([...inOrder, late]);
    const expected = await dumpTables(prisma, { counts: false });
    await emptyTables(prisma);
    const server = await path.start({ segmentTurns: 2 });
    for (const event of inOrder) await server.send(event);
    const origins = () =>
      prisma.crossing.findMany({
        where: { threshold: "hard" },
        select: { origin: true },
        orderBy: { at: "asc" },
      });
    expect(await origins()).toEqual([{ origin: crossingOriginCode("both") }]);
    await server.send(late);
    await server.close();
    expect((await origins())[0]).toEqual({ origin: crossingOriginCode("derived") });
    expect(await dumpTables(prisma, { counts: false })).toEqual(expected);
  });

  it("of several servers at once give it too, whatever each of them remembers", async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.array(anyEvent, { minLength: 1, maxLength: 60 }).map(distinctMarks),
        fc.array(fc.record({ server: fc.nat(2), size: fc.integer({ min: 1, max: 6 }), wait: fc.boolean() }), {
          minLength: 60,
          maxLength: 60,
        }),
        async (events, steps) => {
          const sorted = [...events].sort((a, b) => a.at - b.at);
          await emptyTables(prisma);
          await send(sorted);
          const expected = await dumpTables(prisma, { counts: false });

          await emptyTables(prisma);
          const servers = await Promise.all([2, 2, 2].map((segmentTurns) => path.start({ segmentTurns })));
          const under: Promise<unknown>[] = [];
          for (let next = 0, step = 0; next < sorted.length; step++) {
            const { server, size, wait } = steps[step]!;
            under.push(servers[server]!.send(...sorted.slice(next, next + size)));
            if (wait) await Promise.all(under.splice(0));
            next += size;
          }
          await Promise.all(under);
          await Promise.all(servers.map((server) => server.close()));
          expect(await dumpTables(prisma, { counts: false })).toEqual(expected);
        },
      ),
      PARAMETERS,
    );
  }, 600_000);

  it("hold for context tokens too: SQL and the protocol agree", async () => {
    await emptyTables(prisma);
    await send([turn(3, { usage: { input_tokens: 3, cache_read_tokens: 800, cache_write_tokens: 40 } })]);
    const [row] = await storedTurns(prisma);
    expect(row?.contextTokens).toBe(
      contextTokens({
        input_tokens: 3,
        cache_read_tokens: 800,
        cache_write_tokens: 40,
        cache_write_1h_tokens: undefined,
        output_tokens: undefined,
        reasoning_tokens: undefined,
      }),
    );
  });
});
