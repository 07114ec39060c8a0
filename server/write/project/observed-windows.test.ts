import fc from "fast-check";
import { afterAll, beforeAll, beforeEach, describe, expect, it } from "vitest";
import type { PrismaClient } from "../../db/client.ts";
import { unpackFacets } from "../../db/tables/codes.ts";
import { dumpTables, emptyTables } from "../../testing/dump.ts";
import { offer, type TestIngest, testIngest } from "../../testing/ingest.ts";
import { storedRollups, sumsOfTurns } from "../../testing/rollup-sums.ts";
import { storedTurns } from "../../testing/turns.ts";
import { upkeepDone } from "../../testing/upkeep.ts";

const HOUR = Date.UTC(2026, 10, 20, 10);
const DAY = 86_400_000;

let path: TestIngest;
let prisma: PrismaClient;

beforeAll(async () => {
  path = await testIngest();
  prisma = path.prisma;
});
afterAll(() => path.close());
beforeEach(() => emptyTables(prisma));

const turn = (
  session: string,
  n: number,
  {
    harness = "cli@a",
    model = "new-model",
    window,
    at = HOUR + n * 1_000,
    tokens = 1_000,
  }: {
    harness?: string;
    model?: string;
    window?: number;
    at?: number;
    tokens?: number;
  } = {},
) => ({
  id: `t${n}`,
  type: "turn",
  harness,
  session,
  at,
  model,
  usage: { input_tokens: tokens, output_tokens: 10 },
  ...(window !== undefined && { context_window: window }),
});

/** Sizes and sources of the turns, by session. */
async function sizes(projectId = 1): Promise<Record<string, string>> {
  const agents = await prisma.agent.findMany({ where: { projectId } });
  const sessions = new Map(
    (await prisma.session.findMany({ where: { projectId } })).map(({ id, name }) => [id, name]),
  );
  const found: Record<string, string> = {};
  for (const one of await storedTurns(prisma)) {
    if (one.projectId !== projectId) continue;
    const { sessionId } = agents.find(({ number }) => number === one.agent)!;
    const text = `${one.windowTokens ?? "-"} ${unpackFacets(one.facets).windowSource}`;
    const session = sessions.get(sessionId)!;
    found[session] =
      found[session] === undefined || found[session] === text ? text : `${found[session]}, ${text}`;
  }
  return found;
}

describe("a size that one session reports", () => {
  it("serves the sessions of the model that report none, those before it and those after it", async () => {
    const server = await path.start();
    await server.send(turn("before", 1), turn("before", 2));
    expect(await sizes()).toEqual({ before: "- unknown" });
    await server.send(turn("witness", 3, { window: 50_000 }));
    await server.send(turn("after", 4, { model: "vendor/new-model" }));
    await server.send(turn("elsewhere", 5, { harness: "other@a" }));
    await upkeepDone(prisma);
    expect(await sizes()).toEqual({
      before: "50000 observed",
      witness: "50000 reported",
      after: "50000 observed",
      elsewhere: "50000 observed",
    });
    expect(await storedRollups(prisma)).toEqual(await sumsOfTurns(prisma));
    await server.close();
  });

  it.each(["new-model ", "new,model", "{new}", 'new"model', "new\\model", "null"])(
    "serves those before it whatever the model is called: %j",
    async (model) => {
      const server = await path.start();
      await server.send(turn("before", 1, { model }));
      await server.send(turn("witness", 2, { model, window: 50_000 }));
      await upkeepDone(prisma);
      expect(await sizes()).toEqual({ before: "50000 observed", witness: "50000 reported" });
      await server.ingest.command(1, { type: "set_window", model, tokens: 9_000 });
      await upkeepDone(prisma);
      expect((await sizes()).before).toBe("9000 configured");
      await server.ingest.command(1, { type: "set_window", model, tokens: null });
      await server.close();
    },
  );

  it("yields to a size that somebody sets, and comes back when that is removed", async () => {
    const server = await path.start();
    await server.send(turn("witness", 3, { window: 50_000 }), turn("asks", 4));
    const set = (tokens: number | null) =>
      server.ingest.command(1, { type: "set_window", model: "new-model", tokens });
    await set(9_000);
    await upkeepDone(prisma);
    expect(await sizes()).toEqual({ witness: "50000 reported", asks: "9000 configured" });
    await server.send(turn("witness", 5, { window: 40_000 }));
    await set(null);
    await upkeepDone(prisma);
    expect((await sizes()).asks).toBe("40000 observed");
    await server.close();
  });

  it("is not the larger of two, whichever is newer, until the smaller is a week old", async () => {
    const server = await path.start();
    const at = HOUR - 8 * DAY;
    const large = { harness: "cli@b", window: 1_000_000 };
    await server.send(turn("asks", 1));
    await server.send(
      turn("small", 2, { window: 200_000, at }),
      turn("large", 3, { ...large, at: at + 6 * DAY }),
    );
    await upkeepDone(prisma);
    expect((await sizes()).asks).toBe("200000 observed");
    await server.send(turn("large", 4, { ...large, at: at + 7 * DAY }));
    await upkeepDone(prisma);
    expect((await sizes()).asks).toBe("1000000 observed");
    await server.close();
  });

  it("is not learned from a prompt that it cannot hold", async () => {
    const server = await path.start();
    await server.send(turn("asks", 1), turn("wrong", 2, { window: 200_000, tokens: 219_000 }));
    await upkeepDone(prisma);
    expect((await sizes()).asks).toBe("- unknown");
    await server.close();
  });

  it("stays in its project, and when its witness is deleted or the server starts again", async () => {
    await prisma.project.create({ data: { id: 2, name: "other", createdAt: new Date() } });
    let server = await path.start();
    await server.send(turn("witness", 1, { window: 50_000 }));
    await offer(server.ingest, 2, [turn("asks", 2)], { wait: true });
    await prisma.session.updateMany({ where: { name: "witness" }, data: { deletedAt: new Date() } });
    await server.close();
    server = await path.start();
    await server.send(turn("asks", 3));
    await upkeepDone(prisma);
    expect(await sizes(2)).toEqual({ asks: "- unknown" });
    expect((await sizes(1)).asks).toBe("50000 observed");
    await server.close();
  });
});

describe("folding again", () => {
  it("is asked for once when a size is learned, for the agents that may need it", async () => {
    const server = await path.start();
    const before = range(0, 20).map((n) => turn(`before ${n}`, n));
    await server.send(...before, turn("long ago", 90, { model: "old-model", at: HOUR - 3 * DAY }));
    await prisma.$executeRawUnsafe("CREATE TABLE IF NOT EXISTS asked (agent_id uuid, harness text)");
    await prisma.$executeRawUnsafe(`CREATE OR REPLACE FUNCTION note_refold() RETURNS trigger LANGUAGE plpgsql AS
      $$ BEGIN INSERT INTO asked VALUES (NEW.agent_id); RETURN NEW; END $$`);
    await prisma.$executeRawUnsafe(
      "CREATE OR REPLACE TRIGGER noted AFTER INSERT ON refolds FOR EACH ROW EXECUTE FUNCTION note_refold()",
    );
    try {
      for (const n of range(0, 30))
        await server.send(turn(`witness ${n}`, 100 + n, { window: n % 2 === 0 ? 50_000 : 60_000 }));
      await upkeepDone(prisma);
      const asked = await prisma.$queryRawUnsafe<{ n: number }[]>("SELECT count(*)::int4 AS n FROM asked");
      expect(asked).toEqual([{ n: 20 }]);
      expect(new Set(Object.values(await sizes()))).toEqual(
        new Set(["50000 observed", "50000 reported", "60000 reported", "- unknown"]),
      );
    } finally {
      await prisma.$executeRawUnsafe("DROP TRIGGER noted ON refolds");
      await server.close();
    }
  });
});

const range = (from: number, to: number) => Array.from({ length: to - from }, (_, n) => from + n);

describe("any order, batching, server and crash", () => {
  it("gives the same database", async () => {
    const event = fc.record({
      session: fc.constantFrom("s1", "s2", "s3", "s4"),
      harness: fc.constantFrom("one@a", "one@b", "two@a", "three"),
      model: fc.constantFrom("new-model", "v/new-model", "claude-haiku-4-5", "qwen3:8b"),
      window: fc.option(fc.constantFrom(8_000, 16_000, 32_000, 64_000, 500), { nil: undefined, freq: 2 }),
      day: fc.integer({ min: 0, max: 12 }),
    });
    const step = fc.record({
      size: fc.integer({ min: 1, max: 9 }),
      restart: fc.boolean(),
      other: fc.boolean(),
    });
    await fc.assert(
      fc.asyncProperty(
        fc.array(event, { minLength: 4, maxLength: 40 }),
        fc.array(fc.nat(1e6), { minLength: 40, maxLength: 40 }),
        fc.array(step, { minLength: 40, maxLength: 40 }),
        async (events, dice, steps) => {
          const turns = events.map(({ session, day, window, ...rest }, n) =>
            turn(session, n, {
              ...rest,
              ...(window !== undefined && { window }),
              at: HOUR + (day - 12) * DAY + n * 1_000,
            }),
          );
          await emptyTables(prisma);
          await path.sendOnce(turns);
          const last = await path.start();
          await upkeepDone(prisma);
          await last.close();
          const expected = await dumpTables(prisma, { counts: false });

          await emptyTables(prisma);
          const waiting = turns
            .map((one, n) => ({ one, rank: dice[n]! }))
            .sort((a, b) => a.rank - b.rank)
            .map(({ one }) => one);
          let servers = [await path.start({ segmentTurns: 2 }), await path.start({ segmentTurns: 2 })];
          for (const { size, restart, other } of steps) {
            if (waiting.length === 0) break;
            const [server] = other ? servers.slice(1) : servers;
            await server!.send(...waiting.splice(0, size));
            if (!restart) continue;
            await prisma.$executeRawUnsafe("UPDATE projectors SET holder = NULL, epoch = epoch + 1");
            await servers[0]!.close();
            servers = [servers[1]!, await path.start({ segmentTurns: 2 })];
          }
          await upkeepDone(prisma);
          await Promise.all(servers.map((server) => server.close()));
          expect(await dumpTables(prisma, { counts: false })).toEqual(expected);
        },
      ),
      { numRuns: Number(process.env.FUZZ_RUNS ?? 6), endOnFailure: true },
    );
  }, 600_000);
});
