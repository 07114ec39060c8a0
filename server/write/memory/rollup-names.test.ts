import fc from "fast-check";
import { afterAll, beforeAll, beforeEach, describe, expect, it } from "vitest";
import type { PrismaClient } from "../../db/client.ts";
import { ALL } from "../../db/tables/buckets.ts";
import { OTHER } from "../../db/tables/rollup-names.ts";
import { emptyTables } from "../../testing/dump.ts";
import { setTestWindows, type TestIngest, type TestPipeline, testIngest } from "../../testing/ingest.ts";
import {
  storedBoundaryRollups,
  storedRollups,
  sumsOfBoundaries,
  sumsOfTurns,
} from "../../testing/rollup-sums.ts";
import { storedTurns } from "../../testing/turns.ts";
import { upkeepDone } from "../../testing/upkeep.ts";
import { examine } from "../../upkeep/doctor/examine.ts";

const MIDNIGHT = Date.UTC(2026, 10, 20);
const MINUTE = 60_000;
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
  await setTestWindows(prisma);
});

const turn = (harness: string, model: string, more: Record<string, unknown> = {}) => ({
  id: "t",
  type: "turn",
  at: MIDNIGHT,
  harness,
  session: "s",
  model,
  usage: { input_tokens: 1_000, output_tokens: 10 },
  ...more,
});

/** Turns of the longest buckets by harness, model and day. */
async function counted(): Promise<Record<string, number>> {
  const rows = await prisma.rollup.findMany({
    where: { grain: 360, harness: { not: ALL }, turns: { not: 0 } },
    orderBy: [{ bucket: "asc" }, { harness: "asc" }, { model: "asc" }],
  });
  return Object.fromEntries(
    rows.map(({ harness, model, bucket, turns }) => [
      `${harness} ${model} ${Math.floor((bucket.getTime() - MIDNIGHT) / DAY)}`,
      turns,
    ]),
  );
}

async function faults(): Promise<string> {
  const { checks } = await examine(
    { projectId: 1 },
    { keyId: "", databaseUrl: path.databaseUrl, clock: () => performance.now(), budget: 60_000 },
  );
  return checks
    .filter(({ ok }) => !ok)
    .map(({ name, message }) => `${name}: ${message}`)
    .join("\n");
}

describe("names beyond the limit of a day", () => {
  it("are counted under one name, and leave turns and sessions their own", async () => {
    const server = await path.start({ namesPerDay: 2 });
    await server.send(turn("a", "model-a"), turn("b", "model-a"), turn("c", "model-a"));
    await server.send(turn("d", "model-b"), turn("a", "model-a", { id: "again" }));
    await server.close();
    expect(await counted()).toEqual({
      "(other) (other) 0": 2,
      "a model-a 0": 2,
      "b model-a 0": 1,
    });
    const sessions = await prisma.session.findMany({ orderBy: { harness: "asc" } });
    expect(sessions.map(({ harness, model }) => [harness, model])).toEqual([
      ["a", "model-a"],
      ["b", "model-a"],
      ["c", "model-a"],
      ["d", "model-b"],
    ]);
    expect(await faults()).toBe("");
  });

  it("have room again on the next day of their events, whenever these are received", async () => {
    const server = await path.start({ namesPerDay: 1 });
    await server.send(
      turn("a", "model-a"),
      turn("b", "model-a"),
      turn("b", "model-a", { id: "later", at: MIDNIGHT + DAY }),
      turn("a", "model-a", { id: "later", at: MIDNIGHT + DAY }),
    );
    await server.close();
    const days = await counted();
    expect(Object.values(days)).toEqual([1, 1, 1, 1]);
    expect(Object.keys(days).filter((name) => name.startsWith(OTHER))).toEqual([
      "(other) (other) 0",
      "(other) (other) 1",
    ]);
  });

  it("are told apart on each of many days in one chunk, also when they come again", async () => {
    const days = Array.from({ length: 120 }, (_, n) => ({ id: `d${n}`, at: MIDNIGHT - n * DAY }));
    const sent = [
      ...days.map((day) => turn("a", "model-a", day)),
      ...days.map((day) => turn("b", "model-a", day)),
    ];
    const server = await path.start({ namesPerDay: 1 });
    await server.send(...sent);
    await server.send(...sent.map((one) => ({ ...one, usage: { input_tokens: 2_000 } })));
    await server.close();
    expect(Object.values(await counted())).toEqual(Array(240).fill(1));
    expect(await storedRollups(prisma)).toEqual(await sumsOfTurns(prisma));
  });

  it("are corrected where they were counted, also by another server", async () => {
    let server = await path.start({ namesPerDay: 1 });
    await server.send(turn("a", "model-a"), turn("b", "model-a", { usage: { input_tokens: 9_000 } }));
    await server.close();
    server = await path.start({ namesPerDay: 1 });
    // Larger counts, and a prompt that was measured after all: less than was estimated.
    await server.send(turn("b", "model-a", { usage: { input_tokens: 9_500 } }));
    await server.send(turn("b", "model-a", { id: "e", estimated: true, usage: { input_tokens: 9_900 } }));
    await server.send(turn("b", "model-a", { id: "e", usage: { input_tokens: 300 } }));
    await server.ingest.command(1, { type: "set_window", model: "model-a", tokens: 20_000 });
    await upkeepDone(prisma);
    await server.close();
    expect(await storedRollups(prisma)).toEqual(await sumsOfTurns(prisma));
    const [other] = await prisma.rollup.findMany({ where: { grain: 60, harness: OTHER } });
    expect(other).toMatchObject({ turns: 2, peakTokens: 9_500, stale: false });
    expect(other!.peakUtilization).toBeCloseTo(9_500 / 20_000);
    expect(await faults()).toBe("");
  });

  it("do not let a sender use up the day with the reserved name", async () => {
    const server = await path.start({ namesPerDay: 2 });
    await server.send(
      turn(OTHER, OTHER),
      turn(OTHER, "model-a", { id: "2" }),
      turn("a", OTHER),
      turn("b", "model-a"),
    );
    await server.close();
    expect(await counted()).toEqual({
      "(other) (other) 0": 2,
      "a (other) 0": 1,
      "b model-a 0": 1,
    });
    expect(await faults()).toBe("");
  });
});

describe("models beyond the limit", () => {
  it("are stored under one name, and a repeat adds nothing", async () => {
    const server = await path.start({ namesPerDay: 2 });
    const sent = ["m1", "m2", "m3", "m4"].map((model) => turn("h", model, { id: model }));
    await server.send(...sent);
    expect(await server.send(...sent)).toEqual({ accepted: 0, duplicates: 4, rejected: [] });
    await server.close();
    const again = await path.start({ namesPerDay: 2 });
    expect(await again.send(...sent)).toEqual({ accepted: 0, duplicates: 4, rejected: [] });
    await again.close();
    const models = await prisma.model.findMany({ orderBy: { name: "asc" } });
    expect(models.map(({ name }) => name)).toEqual([OTHER, "m1", "m2"]);
    const names = new Map(models.map(({ id, name }) => [id, name]));
    const turns = (await storedTurns(prisma)).map(({ modelId }) => names.get(modelId));
    expect(turns.toSorted()).toEqual([OTHER, OTHER, "m1", "m2"]);
    expect(await faults()).toBe("");
  });
});

describe("harness instances beyond the limit", () => {
  it("have no row, and those that have one are brought up to date", async () => {
    const server = await path.start({ namesPerDay: 2 });
    await server.send(turn("a", "m"), turn("b", "m"), turn("c", "m"));
    await server.close();
    const again = await path.start({ namesPerDay: 2 });
    await again.send(turn("d", "m"), turn("a", "m", { id: "later", at: MIDNIGHT + MINUTE }));
    await again.close();
    const rows = await prisma.harness.findMany({ orderBy: { instance: "asc" } });
    expect(rows.map(({ instance, lastAt }) => [instance, lastAt.getTime() - MIDNIGHT])).toEqual([
      ["a", MINUTE],
      ["b", 0],
    ]);
  });
});

const anyEvent = fc
  .record({
    id: fc.integer({ min: 0, max: 4 }),
    kind: fc.constantFrom("turn", "turn", "turn", "turn", "masked", "cleared"),
    harness: fc.constantFrom("h1", "h2", "h3", "h4", OTHER),
    // Around midnight, and days before.
    minute: fc.constantFrom(-3_000, -2, -1, 0, 1, 700),
    input: fc.option(fc.integer({ min: 0, max: 14_000 }), { nil: undefined, freq: 6 }),
    model: fc.constantFrom("model-a", "model-a", "model-b", "nobody-knows", OTHER),
    estimated: fc.boolean(),
  })
  .map(({ id, kind, harness, minute, input, model, estimated }) => {
    const envelope = { harness, session: "s", at: MIDNIGHT + minute * MINUTE };
    if (kind === "masked") return { ...envelope, id: `m-${id}`, type: kind, observations: 1 };
    if (kind === "cleared") return { ...envelope, id: `c-${id}`, type: kind };
    return { ...envelope, id: `t-${id}`, type: "turn", model, usage: { input_tokens: input }, estimated };
  });
const anyStep = fc.record({
  server: fc.nat(1),
  size: fc.integer({ min: 1, max: 9 }),
  wait: fc.boolean(),
  after: fc.constantFrom("go_on", "go_on", "go_on", "restart", "set_window"),
});

describe("any events", () => {
  it("are all counted, whoever projects them, under few enough names", async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.array(anyEvent, { minLength: 1, maxLength: 50 }),
        fc.array(anyStep, { minLength: 50, maxLength: 50 }),
        fc.integer({ min: 1, max: 4 }),
        async (events, steps, namesPerDay) => {
          await emptyTables(prisma);
          const start = () => path.start({ segmentTurns: 3, namesPerDay });
          const servers: TestPipeline[] = [await start(), await start()];
          let under: Promise<unknown>[] = [];
          for (let next = 0, index = 0; next < events.length; index++) {
            const { server, size, wait, after } = steps[index]!;
            under.push(servers[server]!.send(...events.slice(next, next + size)));
            if (wait || after !== "go_on") await Promise.all(under.splice(0));
            if (after === "restart") {
              await servers[server]!.close();
              servers[server] = await start();
            } else if (after === "set_window") {
              const command = { type: "set_window", model: "model-a", tokens: 4_000 * (index + 1) } as const;
              await servers[server]!.ingest.command(1, command);
            }
            next += size;
          }
          await Promise.all(under);
          under = [];
          await upkeepDone(prisma);
          await Promise.all(servers.map((server) => server.close()));

          expect(await storedRollups(prisma)).toEqual(await sumsOfTurns(prisma));
          expect(await storedBoundaryRollups(prisma)).toEqual(await sumsOfBoundaries(prisma));
          const names = await prisma.rollupName.groupBy({
            by: ["day"],
            where: { model: { not: ALL }, harness: { not: OTHER } },
            _count: true,
          });
          for (const { _count } of names) expect(_count).toBeLessThanOrEqual(namesPerDay);
          expect(await faults()).toBe("");
        },
      ),
      { numRuns: Number(process.env.FUZZ_RUNS ?? 6), endOnFailure: true },
    );
  }, 600_000);
});
