import fc from "fast-check";
import { afterAll, beforeAll, beforeEach, describe, expect, inject, it } from "vitest";
import type { PrismaClient } from "../../db/client.ts";
import { anyEvent, distinctMarks } from "../../testing/any-events.ts";
import { connectTo, waitingBackends } from "../../testing/backends.ts";
import { dumpTables, emptyTables } from "../../testing/dump.ts";
import { setTestWindows, type TestIngest, type TestPipeline, testIngest } from "../../testing/ingest.ts";
import { storedRollups, sumsOfTurns } from "../../testing/rollup-sums.ts";
import { HOUR } from "../../testing/thread-turns.ts";
import { countTurnsBy } from "../../testing/turns.ts";
import { until } from "../../testing/until.ts";
import { upkeepDone } from "../../testing/upkeep.ts";

let path: TestIngest;
let prisma: PrismaClient;

beforeAll(async () => {
  path = await testIngest();
  prisma = path.prisma;
});
afterAll(() => path.close());
beforeEach(async () => {
  await emptyTables(prisma);
  await prisma.modelWindow.deleteMany();
  await setTestWindows(prisma);
});

const setWindow = (server: TestPipeline, model: string, tokens: number) =>
  server.ingest.command(1, { type: "set_window", model, tokens });

/** Takes the lease away in the middle of the work, as after a crash: what is not committed is lost. */
async function crash(server: TestPipeline): Promise<void> {
  await prisma.$executeRawUnsafe("UPDATE projectors SET holder = NULL, epoch = epoch + 1");
  await server.close();
}

const step = fc.oneof(
  { weight: 6, arbitrary: fc.integer({ min: 1, max: 9 }).map((events) => ({ events })) },
  { weight: 2, arbitrary: fc.constantFrom(9_000, 16_000, 40_000).map((tokens) => ({ tokens })) },
  { weight: 2, arbitrary: fc.constant({ crash: true as const }) },
);

describe("a history that is folded again in steps", () => {
  it("ends as if it were folded at once, whatever arrives, changes or breaks in between", async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.array(anyEvent, { minLength: 10, maxLength: 60 }).map(distinctMarks),
        fc.array(fc.nat(1e6), { minLength: 60, maxLength: 60 }),
        fc.array(step, { minLength: 8, maxLength: 24 }),
        fc.constantFrom(1, 6, 20),
        async (events, dice, steps, refoldEvents) => {
          const sizes = steps.flatMap((one) => ("tokens" in one ? [one.tokens] : []));
          await emptyTables(prisma);
          await prisma.modelWindow.deleteMany({ where: { model: "model-c" } });
          let server = await path.start();
          if (sizes.length > 0) await setWindow(server, "model-c", sizes.at(-1)!);
          await server.send(...[...events].sort((a, b) => a.at - b.at));
          await server.close();
          const expected = await dumpTables(prisma, { counts: false });

          await emptyTables(prisma);
          await prisma.modelWindow.deleteMany({ where: { model: "model-c" } });
          const waiting = events
            .map((event, index) => ({ event, rank: dice[index]! }))
            .sort((a, b) => a.rank - b.rank)
            .map(({ event }) => event);
          const options = { segmentTurns: 2, refoldEvents };
          server = await path.start(options);
          for (const one of steps) {
            if ("events" in one) {
              if (waiting.length > 0) await server.send(...waiting.splice(0, one.events));
            } else if ("tokens" in one) await setWindow(server, "model-c", one.tokens);
            else {
              await crash(server);
              server = await path.start(options);
            }
          }
          if (waiting.length > 0) await server.send(...waiting);
          await upkeepDone(prisma);
          await server.close();
          expect(await dumpTables(prisma, { counts: false })).toEqual(expected);
        },
      ),
      { numRuns: Number(process.env.FUZZ_RUNS ?? 6), endOnFailure: true },
    );
  }, 600_000);

  /** Lets the next step commit nothing. Resolves after the step that is under way. */
  async function lockRefold() {
    const client = await connectTo(path.databaseUrl);
    await client.query("BEGIN");
    const { rows } = await client.query<{ at: number }>(
      "SELECT COALESCE(extract(epoch FROM done_to), 0)::float8 AS at FROM refolds WHERE project_id = 1 FOR UPDATE",
    );
    const other = await connectTo(path.databaseUrl);
    const waiting = () => waitingBackends(other, { type: "Lock", statement: "refolds" });
    return {
      doneTo: rows[0]!.at,
      waiting,
      reached: () => until(async () => (await waiting()).length > 0),
      async terminate() {
        for (const pid of await waiting()) await other.query("SELECT pg_terminate_backend($1)", [pid]);
      },
      async release() {
        await client.query("ROLLBACK");
        await Promise.all([client.end(), other.end()]);
      },
    };
  }

  const turn = (n: number, at = HOUR + n * 1_000) => ({
    id: `t${n}`,
    type: "turn",
    harness: "h",
    session: "s",
    at,
    model: "model-c",
    usage: { input_tokens: 1_000 + (n % 90), output_tokens: 1 },
  });
  const LONG = 1_200;
  const turns = Array.from({ length: LONG }, (_, n) => turn(n));
  const restart = {
    id: "r",
    type: "restarted",
    harness: "h",
    session: "s",
    at: HOUR + 500,
    number: 1,
    previous_turns: 1,
    carryover_turns: 0,
    reason: "full",
  };

  // A worker of Citus waits for a lock in a way that its coordinator does not show.
  it.skipIf(inject("citus")).each([
    ["after a new window size", async (server: TestPipeline) => setWindow(server, "model-c", 50_000)],
    ["after a late event that changes all turns", async (server: TestPipeline) => server.send(restart)],
  ])("%s goes on after crashes from where it was, with true totals at each step", async (_, change) => {
    const options = { segmentTurns: 100, refoldEvents: 200 };
    let server = await path.start(options);
    await server.send(...turns);
    await change(server);
    await until(async () => (await prisma.refold.count()) === 1);
    let lock = await lockRefold();
    const places = [lock.doneTo];
    for (let crashes = 0; crashes < 2; crashes++) {
      await lock.reached();
      await lock.terminate();
      await crash(server);
      expect((await prisma.agent.findFirstOrThrow()).turns).toBe(LONG);
      expect(await storedRollups(prisma)).toEqual(await sumsOfTurns(prisma));
      server = await path.start(options);
      await lock.reached();
      const next = lockRefold();
      await until(async () => (await lock.waiting()).length === 2);
      await lock.release();
      lock = await next;
      places.push(lock.doneTo);
    }
    expect(places[1]).toBeGreaterThan(places[0]!);
    expect(places[2]).toBeGreaterThan(places[1]!);
    await lock.release();
    await server.send(turn(LONG));
    await upkeepDone(prisma);
    await server.close();
    const stepped = await dumpTables(prisma, { counts: false });

    await emptyTables(prisma);
    server = await path.start();
    await server.send(...turns, turn(LONG));
    await change(server);
    await upkeepDone(prisma);
    await server.close();
    expect(stepped).toEqual(await dumpTables(prisma, { counts: false }));
    expect([...(await countTurnsBy(prisma, "windowTokens")).values()]).toEqual([LONG + 1]);
  });
});
