import type { PolicyBody } from "@plimsoll/protocol/policy";
import fc from "fast-check";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from "vitest";
import type { PrismaClient } from "../../db/client.ts";
import { anyEvent, distinctMarks } from "../../testing/any-events.ts";
import { dumpTables, emptyTables } from "../../testing/dump.ts";
import { setTestWindows, type TestIngest, type TestPipeline, testIngest } from "../../testing/ingest.ts";
import { HOUR, turn } from "../../testing/thread-turns.ts";
import { until } from "../../testing/until.ts";
import { examine } from "../../upkeep/doctor/examine.ts";

let path: TestIngest;
let prisma: PrismaClient;
let server: TestPipeline;

beforeAll(async () => {
  path = await testIngest({ lines: false });
  prisma = path.prisma;
});
afterAll(() => path.close());
beforeEach(async () => {
  await emptyTables(prisma);
  await prisma.policyVersion.deleteMany();
  await prisma.policyStep.deleteMany();
  await prisma.modelWindow.deleteMany();
  await prisma.project.update({ where: { id: 1 }, data: { policyRevision: 0 } });
  await setTestWindows(prisma);
  server = await path.start();
});
afterEach(() => server.close());

/** Of no known family: its only lines are the end of the window, 10,000 tokens, and a warning at 80 %. */
const base = { harness: "mine@test", session: "s" };

/** As `Policies` saves it. */
async function savePolicy(
  generation: number,
  at: number,
  thresholds: Record<string, unknown>,
): Promise<void> {
  const createdAt = new Date();
  const { policyRevision: revision } = await prisma.project.update({
    where: { id: 1 },
    data: { policyRevision: { increment: 1 } },
  });
  const body = { settings: { thresholds }, layers: [] } as PolicyBody;
  await prisma.$transaction([
    prisma.policyVersion.create({
      data: {
        projectId: 1,
        generation,
        hash: "",
        body: body as object,
        reason: "a test",
        actor: "local",
        createdAt,
      },
    }),
    prisma.policyStep.create({
      data: { projectId: 1, revision, generation, at: new Date(at), share: 1, harnesses: [], createdAt },
    }),
  ]);
}

const ack = (at: number, generation: number, status = "applied", more: object = {}) => ({
  id: `ack-${generation}-${status}-${at}`,
  type: "policy_ack",
  at,
  harness: base.harness,
  generation,
  hash: "0".repeat(64),
  status,
  ...more,
});

const minute = (n: number) => HOUR + n * 60_000;
const at = (n: number, tokens: number) => turn(tokens, { ...base, id: `t${n}`, at: minute(n), seq: n });

async function crossings() {
  const rows = await prisma.crossing.findMany({ orderBy: [{ at: "asc" }, { threshold: "asc" }] });
  return rows.map(
    (row) =>
      `${(row.at.getTime() - HOUR) / 60_000} ${row.threshold} ${row.up ? "up" : "down"} ${row.thresholdTokens}`,
  );
}

/** Waits until the projector has considered the policy, and all agents are folded again that it asked for. */
const settled = () =>
  until(async () => {
    const { policyRevision: newest } = await prisma.project.findUniqueOrThrow({ where: { id: 1 } });
    const { policyRevision: considered } = await prisma.projector.findUniqueOrThrow({
      where: { projectId: 1 },
    });
    return considered === newest && (await prisma.refold.count()) === 0;
  });

async function expectHealthy(): Promise<void> {
  const { checks } = await examine(
    { projectId: 1 },
    { keyId: "", databaseUrl: path.databaseUrl, clock: () => performance.now(), budget: 60_000 },
  );
  expect(checks.filter(({ ok }) => !ok)).toEqual([]);
}

describe("a crossing", () => {
  it("is judged by the policy of its time, and stays when the policy changes", async () => {
    await savePolicy(1, minute(0), { ceiling: 3_000 });
    await server.send(at(1, 2_000), at(2, 3_500));
    expect(await crossings()).toEqual(["2 ceiling up 3000"]);
    await savePolicy(2, minute(3), { ceiling: 1_000 });
    await server.send(at(4, 500), at(5, 2_000));
    await settled();
    expect(await crossings()).toEqual(["2 ceiling up 3000", "4 ceiling down 1000", "5 ceiling up 1000"]);
    await expectHealthy();
  });

  it("is judged by what the harness acknowledged, from then on", async () => {
    await savePolicy(1, minute(0), { ceiling: 3_000 });
    await server.send(ack(minute(1), 1), at(2, 2_000));
    await savePolicy(2, minute(3), { ceiling: 1_000 });
    await server.send(at(4, 2_100));
    expect(await crossings()).toEqual([]);
    await server.send(ack(minute(5), 2), at(6, 2_200));
    expect(await crossings()).toEqual(["6 ceiling up 1000"]);
    await expectHealthy();
  });

  it("is judged anew when an acknowledgement comes late", async () => {
    await savePolicy(1, minute(0), { ceiling: 3_000 });
    await savePolicy(2, minute(1), { ceiling: 1_000 });
    await server.send(ack(minute(0.5), 1), at(2, 2_000), at(3, 2_100));
    expect(await crossings()).toEqual([]);
    await server.send(ack(minute(2.5), 2));
    await settled();
    expect(await crossings()).toEqual(["3 ceiling up 1000"]);
    await expectHealthy();
  });

  it("of a sender whose clock is ahead is judged by a policy that was saved meanwhile", async () => {
    await savePolicy(1, minute(0), { ceiling: 3_000 });
    await server.send(at(1, 2_000), at(9, 2_100));
    await savePolicy(2, minute(5), { ceiling: 1_000 });
    await server.send(turn(10, { ...base, id: "other", at: minute(6), session: "another" }));
    await settled();
    expect(await crossings()).toEqual(["9 ceiling up 1000"]);
    await expectHealthy();
  });

  it("is judged by a policy that was saved while another process held the project", async () => {
    await savePolicy(1, minute(0), { ceiling: 3_000 });
    await server.send(at(1, 2_000), at(9, 2_100));
    await savePolicy(2, minute(5), { ceiling: 1_000 });
    await server.close();
    server = await path.start();
    await server.send(turn(10, { ...base, id: "other", at: minute(6), session: "another" }));
    await settled();
    expect(await crossings()).toEqual(["9 ceiling up 1000"]);
    await expectHealthy();
  });

  it("of the past is judged anew when a policy is applied to it", async () => {
    await server.send(at(1, 2_000), at(2, 3_500));
    expect(await crossings()).toEqual([]);
    await savePolicy(1, 0, { ceiling: 3_000 });
    await server.send(turn(10, { ...base, id: "other", at: minute(6), session: "another" }));
    await settled();
    expect(await crossings()).toEqual(["2 ceiling up 3000"]);
    await expectHealthy();
  });

  it("is judged by the line that a harness reports if it acknowledges nothing", async () => {
    await savePolicy(1, minute(0), { ceiling: 9_000 });
    const reported = {
      ...base,
      id: "report",
      type: "threshold_crossed",
      at: minute(2),
      threshold: "ceiling",
      direction: "up",
      threshold_tokens: 2_000,
      context_tokens: 2_100,
    };
    await server.send(at(1, 500), at(2, 2_100), reported, at(3, 900), at(4, 2_200));
    expect(await crossings()).toEqual(["2 ceiling up 2000", "3 ceiling down 2000", "4 ceiling up 2000"]);
    await expectHealthy();
  });
});

const anyAck = fc
  .record({
    n: fc.integer({ min: 0, max: 60 }),
    generation: fc.integer({ min: 1, max: 3 }),
    status: fc.constantFrom("received", "applied", "applied", "overridden", "rejected"),
  })
  .map(({ n, generation, status }) => ({
    ...ack(HOUR + n * 15_000, generation, status),
    harness: "h",
    session: "s1",
    agent: "main",
    ...(status === "overridden" && { effective: { thresholds: { warning: 700 + n } } }),
  }));

describe("events and acknowledgements in any order and batches", () => {
  it("give the same database", async () => {
    await savePolicy(1, HOUR + 60_000, { warning: 1_500, ceiling: "40%" });
    await savePolicy(2, HOUR + 300_000, { warning: "30%", ceiling: null });
    const parameters = { numRuns: Number(process.env.FUZZ_RUNS ?? 6), endOnFailure: true };
    await server.close();
    await fc.assert(
      fc.asyncProperty(
        fc.array(anyEvent, { minLength: 1, maxLength: 30 }).map(distinctMarks),
        fc.uniqueArray(anyAck, { maxLength: 5, selector: ({ id }) => id }),
        fc.array(fc.integer({ min: 0, max: 1e6 }), { minLength: 80, maxLength: 80 }),
        fc.integer({ min: 1, max: 9 }),
        fc.constantFrom(2, 5, 256),
        async (events, acks, shuffle, size, segmentTurns) => {
          const all = [...events, ...acks];
          await emptyTables(prisma);
          await path.sendOnce([...all].sort((a, b) => a.at - b.at));
          const expected = await dumpTables(prisma, { counts: false });

          await emptyTables(prisma);
          const shuffled = all
            .map((event, index) => ({ event, rank: shuffle[index % shuffle.length]! + index / 1_000 }))
            .sort((a, b) => a.rank - b.rank)
            .map(({ event }) => event);
          let process = await path.start({ segmentTurns });
          for (let start = 0; start < shuffled.length; start += size) {
            await process.send(...shuffled.slice(start, start + size));
            if (start % 3 > 0) continue;
            await process.close();
            process = await path.start({ segmentTurns });
          }
          await process.send({ ...ack(HOUR, 1, "received"), id: "wake" });
          await settled();
          await process.close();
          await prisma.boundary.deleteMany({ where: { id: "wake" } });
          const found = await dumpTables(prisma, { counts: false });
          expect({ ...found, harnesses: [] }).toEqual({ ...expected, harnesses: [] });
        },
      ),
      parameters,
    );
    server = await path.start();
  }, 600_000);
});
