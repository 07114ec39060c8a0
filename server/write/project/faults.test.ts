import pg from "pg";
import { afterAll, beforeAll, beforeEach, describe, expect, it } from "vitest";
import type { PrismaClient } from "../../db/client.ts";
import { dumpTables, emptyTables } from "../../testing/dump.ts";
import { offer as offerTo, type TestIngest, type TestPipeline, testIngest } from "../../testing/ingest.ts";
import { countTurns, countTurnsBy, storedTurns } from "../../testing/turns.ts";
import { until } from "../../testing/until.ts";

const HOUR = Date.UTC(2026, 10, 20, 10);
const DAY = 86_400_000;

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
});

const turn = (n: number, more: Record<string, unknown> = {}) => ({
  id: `t${n}`,
  type: "turn",
  harness: "h",
  session: "s",
  at: HOUR + n * 1_000,
  model: "model-x",
  usage: { input_tokens: 1_000 + n, output_tokens: n },
  ...more,
});
const range = (count: number) => Array.from({ length: count }, (_, n) => n);
const offer = (server: TestPipeline, projectId: number, ...events: unknown[]) =>
  offerTo(server.ingest, projectId, events);

async function withTableLocked<T>(table: string, work: () => Promise<T>): Promise<T> {
  const client = new pg.Client({ connectionString: path.databaseUrl });
  await client.connect();
  try {
    await client.query("BEGIN");
    await client.query(`LOCK TABLE ${table} IN ACCESS EXCLUSIVE MODE`);
    return await work();
  } finally {
    await client.query("ROLLBACK");
    await client.end();
  }
}

describe("a server whose clock is set back", () => {
  it("refuses one request and then goes on", async () => {
    let ahead = 0;
    const server = await path.start({ clock: () => Date.now() + ahead });
    await server.send(turn(0, { session: "clock" }));
    ahead = -3_600_000;
    await expect(server.send(turn(1, { session: "clock" }))).rejects.toMatchObject({ code: "overloaded" });
    const at = Date.now();
    expect(await server.send(turn(1, { session: "clock", at }))).toMatchObject({ accepted: 1, rejected: [] });
    await server.close();
  });
});

describe("an event that cannot be projected", () => {
  const POISON = "ALTER TABLE agents ADD CONSTRAINT poison CHECK (peak_tokens <> 666666) NOT VALID";
  const CURE = "ALTER TABLE agents DROP CONSTRAINT IF EXISTS poison";

  it("is set aside with its error, counted, and stops neither its neighbours nor reads", async () => {
    await prisma.$executeRawUnsafe(POISON);
    try {
      const server = await path.start();
      const events = range(40).map((n) => turn(n, { session: `s${n % 4}` }));
      const poison = turn(17, {
        id: "poison",
        session: "s1",
        usage: { input_tokens: 666_666, output_tokens: 1 },
      });
      const answer = await server.send(...events.slice(0, 20), poison, ...events.slice(20));
      expect(answer).toMatchObject({ accepted: 40, duplicates: 0 });
      expect(await server.freshness.wait(1)).toEqual({ events: 0, ms: 0 });
      expect(await countTurns(prisma)).toBe(40);
      const rejected = await prisma.rejectedEvent.findMany();
      expect(rejected).toMatchObject([{ projectId: 1, event: { id: "poison" } }]);
      expect(rejected[0]!.error).toContain("poison");
      const counts = await prisma.ingestCount.findMany({
        where: { outcome: { in: ["turn", "not_projected"] } },
      });
      expect(Object.fromEntries(counts.map(({ outcome, count }) => [outcome, Number(count)]))).toEqual({
        not_projected: 1,
        turn: 40,
      });
      expect(await server.send(turn(99))).toMatchObject({ accepted: 1 });
      // As docs/operations.md says: once the cause is gone, the stored event can be sent again.
      await prisma.$executeRawUnsafe(CURE);
      expect(await server.send(rejected[0]!.event)).toMatchObject({ accepted: 1, rejected: [] });
      expect(await countTurns(prisma)).toBe(42);
      await server.close();
    } finally {
      await prisma.$executeRawUnsafe(CURE);
    }
  });

  it("leaves the database as if it had never been sent", async () => {
    const events = range(30).map((n) => turn(n));
    const clean = await path.start();
    await clean.send(...events);
    await clean.close();
    const expected = await dumpTables(prisma, { counts: false });
    await emptyTables(prisma);
    await prisma.$executeRawUnsafe(POISON);
    try {
      const server = await path.start();
      await server.send(
        ...events,
        turn(12, { id: "poison", usage: { input_tokens: 666_666, output_tokens: 1 } }),
      );
      await server.close();
    } finally {
      await prisma.$executeRawUnsafe(CURE);
    }
    expect(await dumpTables(prisma, { counts: false })).toEqual(expected);
  });

  it("leaves no trace in the memory: late events fold as if it had never been sent", async () => {
    const events = range(30).map((n) => turn(n));
    const late = turn(50, { at: HOUR + 13_500 });
    const clean = await path.start();
    await clean.send(...events);
    await clean.send(late);
    await clean.close();
    const expected = await dumpTables(prisma, { counts: false });
    await emptyTables(prisma);
    const server = await path.start();
    await server.send(...events);
    await prisma.$executeRawUnsafe(POISON);
    try {
      await server.send(turn(12, { id: "poison", usage: { input_tokens: 666_666, output_tokens: 1 } }));
    } finally {
      await prisma.$executeRawUnsafe(CURE);
    }
    await server.send(late);
    await server.close();
    expect(await dumpTables(prisma, { counts: false })).toEqual(expected);
  });
});

describe("a projection that stands still", () => {
  it("lets senders in and readers answer, who hear how far behind it is", async () => {
    const server = await path.start();
    await server.send(turn(0));
    await withTableLocked("turn_blocks", async () => {
      expect(await offer(server, 1, turn(1), turn(2))).toEqual({ accepted: 2, rejected: [] });
      const lag = await server.freshness.wait(1, 200);
      expect(lag.events).toBe(2);
      expect(lag.ms).toBeGreaterThanOrEqual(100);
      expect(await server.freshness.lag(1)).toMatchObject({ events: 2 });
    });
    expect(await server.freshness.wait(1, 15_000)).toEqual({ events: 0, ms: 0 });
    expect(await countTurns(prisma)).toBe(3);
    await server.close();
  });

  it("does not touch another project", async () => {
    await prisma.project.createMany({
      data: [{ id: 2, name: "second", createdAt: new Date() }],
      skipDuplicates: true,
    });
    const server = await path.start();
    await offer(server, 1, turn(1));
    await offer(server, 2, turn(1), turn(2));
    expect(await server.freshness.wait(1, 10_000)).toEqual({ events: 0, ms: 0 });
    expect(await server.freshness.wait(2, 10_000)).toEqual({ events: 0, ms: 0 });
    expect(await countTurnsBy(prisma, "projectId")).toEqual(
      new Map([
        [1, 1],
        [2, 2],
      ]),
    );
    const client = new pg.Client({ connectionString: path.databaseUrl });
    await client.connect();
    await client.query("BEGIN");
    await client.query("SELECT 1 FROM projectors WHERE project_id = 1 FOR UPDATE");
    await offer(server, 1, turn(3));
    expect(await server.freshness.wait(1, 200)).toMatchObject({ events: 1 });
    expect((await offer(server, 2, turn(3))).accepted).toBe(1);
    expect(await server.freshness.wait(2, 10_000)).toEqual({ events: 0, ms: 0 });
    await client.query("ROLLBACK");
    await client.end();
    expect(await server.freshness.wait(1, 15_000)).toEqual({ events: 0, ms: 0 });
    await server.close();
  });
});

describe("data under a running server", () => {
  const tables = [
    "sessions",
    "agents",
    "turn_blocks",
    "boundaries",
    "crossings",
    "windows",
    "segments",
    "rollups",
    "boundary_rollups",
    "harnesses",
    "models",
  ];

  it("that was deleted is written again, with its session", async () => {
    const server = await path.start();
    for (const n of range(6)) await server.send(turn(n));
    await prisma.$executeRawUnsafe(`TRUNCATE ${tables.join(", ")}`);
    expect(await server.send(turn(10))).toMatchObject({ accepted: 1, duplicates: 0 });
    await server.send(turn(11));
    await server.close();
    expect(await prisma.session.findMany()).toMatchObject([
      { name: "s", turns: 2, agents: 1, currentTokens: 1_011 },
    ]);
    expect(await prisma.agent.findMany()).toMatchObject([{ turns: 2, currentTokens: 1_011 }]);
    expect(await countTurns(prisma)).toBe(2);
  });

  it("that was restored from an older copy is continued from that copy", async () => {
    const server = await path.start();
    await server.send(turn(0), turn(1));
    for (const table of tables)
      await prisma.$executeRawUnsafe(`CREATE TABLE copy_${table} AS TABLE ${table}`);
    await server.send(turn(2), turn(3, { session: "later" }));
    await prisma.$transaction([
      prisma.$executeRawUnsafe(`TRUNCATE ${tables.join(", ")}`),
      ...tables.map((table) => prisma.$executeRawUnsafe(`INSERT INTO ${table} SELECT * FROM copy_${table}`)),
    ]);
    await server.send(turn(4), turn(5, { session: "later" }));
    // What the copy lacks is sent again, as a sender that keeps a spool does.
    await server.send(turn(2), turn(3, { session: "later" }));
    await server.close();
    const restored = await dumpTables(prisma, { counts: false });
    for (const table of tables) await prisma.$executeRawUnsafe(`DROP TABLE copy_${table}`);

    await emptyTables(prisma);
    const fresh = await path.start();
    await fresh.send(turn(0), turn(1), turn(2), turn(4));
    await fresh.send(turn(3, { session: "later" }), turn(5, { session: "later" }));
    await fresh.close();
    expect(restored).toEqual(await dumpTables(prisma, { counts: false }));
  });
});

describe("two servers", () => {
  it("both use a window size that was set on one, at once", async () => {
    const [one, two] = [await path.start(), await path.start()];
    await one.send(turn(0));
    await two.send(turn(1));
    await two.ingest.command(1, { type: "set_window", model: "model-x", tokens: 50_000 });
    await one.send(turn(2));
    await two.send(turn(3));
    await until(async () => (await prisma.refold.count()) === 0);
    await Promise.all([one.close(), two.close()]);
    expect(await countTurnsBy(prisma, "windowTokens")).toEqual(new Map([[50_000, 4]]));
  });

  it("tell senders that wait how many events were duplicates, whichever of them projects", async () => {
    const [one, two] = [await path.start(), await path.start()];
    expect(await one.send(turn(0), turn(1))).toEqual({ accepted: 2, duplicates: 0, rejected: [] });
    expect(await two.send(turn(1), turn(2))).toEqual({ accepted: 1, duplicates: 1, rejected: [] });
    expect(await one.send(turn(2), turn(0))).toEqual({ accepted: 0, duplicates: 2, rejected: [] });
    await Promise.all([one.close(), two.close()]);
  });

  it("go on when the one that projects ends without handing over", async () => {
    const one = await path.start();
    await one.send(turn(0));
    await prisma.$executeRawUnsafe(
      "UPDATE projectors SET holder = gen_random_uuid(), epoch = epoch + 1, contested_at = NULL",
    );
    await offer(one, 1, turn(1));
    expect(await one.freshness.wait(1, 60_000)).toEqual({ events: 0, ms: 0 });
    await one.close();
    expect(await countTurns(prisma)).toBe(2);
  });
});

describe("two servers of which one plans for longer than the other's patience", () => {
  it("keep to the one that holds the project", async () => {
    const one = await path.start({ limits: { statement: 60_000, lock: 60_000, answer: 60_000 } });
    await one.send(turn(0));
    // The other's patience counts seconds that pass with each beat, however fast the machine is.
    let passed = 0;
    const two = await path.start({ monotonic: () => passed });
    const lease = () => prisma.projector.findFirstOrThrow({ where: { projectId: 1 } });
    const before = await lease();
    // Its plan must read the agents of new sessions, which waits for the lock.
    await withTableLocked("agents", async () => {
      await Promise.all([one, two].map((server, n) => offer(server, 1, turn(1, { session: `new ${n}` }))));
      for (let { beat } = before; passed < 5_000; passed += 1_000) {
        await until(async () => (await lease()).beat > beat);
        ({ beat } = await lease());
      }
    });
    expect(await two.freshness.wait(1, 20_000)).toEqual({ events: 0, ms: 0 });
    const { holder, epoch } = before;
    expect(await lease()).toMatchObject({ holder, epoch });
    expect(await countTurns(prisma)).toBe(3);
    await Promise.all([one.close(), two.close()]);
  });
});

describe("a chunk that times out", () => {
  const SLOW = `
    CREATE FUNCTION slow() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN PERFORM pg_sleep(0.05); RETURN NEW; END';
    CREATE TRIGGER slow BEFORE INSERT ON agents FOR EACH ROW EXECUTE FUNCTION slow()`;

  it.each([
    ["of one request", 1],
    ["of many requests", 20],
  ])("%s is projected in smaller parts, and nothing is set aside", async (_, requests) => {
    for (const statement of SLOW.split(";\n")) await prisma.$executeRawUnsafe(statement);
    try {
      const server = await path.start({ limits: { statement: 1_000 } });
      const events = range(40).map((n) => turn(n, { session: `s${n}` }));
      const each = events.length / requests;
      await Promise.all(
        range(requests).map((n) => offer(server, 1, ...events.slice(n * each, (n + 1) * each))),
      );
      expect(await server.freshness.wait(1, 60_000)).toEqual({ events: 0, ms: 0 });
      await server.close();
      expect(await countTurns(prisma)).toBe(40);
      expect(await prisma.rejectedEvent.count()).toBe(0);
    } finally {
      await prisma.$executeRawUnsafe("DROP FUNCTION slow CASCADE");
    }
  });
});

describe("a server whose clock is 30 days ahead", () => {
  it("notes receipt by the database's clock, and rejects what the database has not reached", async () => {
    const server = await path.start({ clock: () => Date.now() + 30 * DAY });
    const answer = await server.send(
      turn(0, { at: Date.now() }),
      turn(1, { at: Date.now() + 29 * DAY }),
      turn(2, { at: Date.UTC(2099, 0, 1) }),
    );
    await server.close();
    expect(answer.accepted).toBe(1);
    expect(answer.rejected.map(({ id, code }) => [id, code])).toEqual([
      ["t1", "in_the_future"],
      ["t2", "in_the_future"],
    ]);
    const session = await prisma.session.findFirstOrThrow();
    expect(Math.abs(session.lastReceivedAt.getTime() - Date.now())).toBeLessThan(60_000);
    expect(await storedTurns(prisma)).toMatchObject([{ delay: expect.closeTo(0, -2) as number }]);
  });
});

describe("two different events with one id", () => {
  const masked = (at: number, observations: number) => ({
    id: "m",
    type: "masked",
    harness: "h",
    session: "s",
    at: HOUR + at,
    observations,
  });

  it.each<[string, unknown, unknown]>([
    ["at two times", masked(1_500, 1), masked(2_500, 1)],
    ["that say two things", masked(1_500, 1), masked(1_500, 2)],
    ["of two types", masked(1_500, 1), { ...masked(1_500, 1), type: "cleared" }],
  ])("%s leave the same database in both orders, together or apart", async (_, first, second) => {
    const turns = [turn(1), turn(2, { usage: { input_tokens: 400 } }), turn(3)];
    const results: unknown[] = [];
    for (const batches of [[[first], [second]], [[second], [first]], [[first, second]], [[second, first]]]) {
      await emptyTables(prisma);
      const server = await path.start({ segmentTurns: 2 });
      await server.send(...turns);
      for (const batch of batches) await server.send(...batch);
      await server.close();
      results.push(await dumpTables(prisma, { counts: false }));
    }
    for (const result of results.slice(1)) expect(result).toEqual(results[0]);
  });
});

describe("refolds after a window size was set", () => {
  it("go on with the agents that are left after each interruption", async () => {
    let server = await path.start();
    await server.send(...range(60).map((n) => turn(n, { session: `s${n % 20}` })));
    await server.close();
    await prisma.$executeRawUnsafe(
      "INSERT INTO model_windows (project_id, model, tokens, updated_at) VALUES (1, 'model-x', 70000, now())",
    );
    await prisma.$executeRawUnsafe(
      "INSERT INTO refolds (project_id, agent_id, reason) SELECT project_id, id, 'window_size' FROM agents",
    );
    const seen = [20];
    while (seen.at(-1)! > 0 && seen.length < 60) {
      const from = seen.at(-1)!;
      server = await path.start();
      await until(async () => (await prisma.refold.count()) < from);
      await server.close();
      seen.push(await prisma.refold.count());
      const sizes = await countTurnsBy(prisma, "windowTokens");
      expect(sizes.get(70_000) ?? 0).toBe((20 - seen.at(-1)!) * 3);
    }
    expect(seen.at(-1)).toBe(0);
  });
});

describe("an agent that ended", () => {
  it("takes a late event as if it had never ended, although its state was dropped", async () => {
    const ended = {
      id: "end",
      type: "session",
      harness: "h",
      session: "s",
      at: HOUR + 60_000,
      status: "ended",
    };
    const events = [...range(30).map((n) => turn(n)), ended];
    const late = turn(100, { at: HOUR + 12_500 });
    const whole = await path.start({ segmentTurns: 8 });
    await whole.send(...events, late);
    await whole.close();
    const expected = await dumpTables(prisma, { counts: false });

    await emptyTables(prisma);
    let server = await path.start({ segmentTurns: 8 });
    await server.send(...events);
    await server.close();
    await prisma.$executeRawUnsafe("UPDATE agents SET last_received_at = now() - interval '2 days'");
    server = await path.start({ segmentTurns: 8 });
    await until(async () => (await prisma.agent.count({ where: { hasState: true } })) === 0);
    expect(await prisma.window.count()).toBe(1);
    await server.send(late);
    await server.close();
    expect(await dumpTables(prisma, { counts: false })).toEqual(expected);
  });
});

it("a request whose sender has gone is not journaled", async () => {
  const server = await path.start();
  await server.send(turn(0));
  await offerTo(server.ingest, 1, [turn(1)], { gone: () => true });
  await server.close();
  expect(await countTurns(prisma)).toBe(1);
});
