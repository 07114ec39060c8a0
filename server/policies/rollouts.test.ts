import { pino } from "pino";
import { afterAll, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { harnessId } from "../db/tables/identity.ts";
import { type TestDatabase, testDatabase } from "../testing/database.ts";
import { Policies } from "./policies.ts";
import { Rollouts } from "./rollouts.ts";

const log = pino({ level: "silent" });
const FLEET = ["mine@vm-1", "mine@vm-2", "mine@vm-3"];

let database: TestDatabase;
/** Milliseconds of the clock that all servers of a test share, and the events that wait to be projected. */
let elapsedMs: number;
let waiting: number;

beforeAll(async () => {
  database = await testDatabase();
  const now = new Date();
  await database.prisma.project.create({ data: { id: 1, name: "default", createdAt: now } });
  await database.prisma.harness.createMany({
    data: FLEET.map((instance) => ({
      projectId: 1,
      id: harnessId(1, instance),
      instance,
      firstAt: now,
      lastAt: now,
      lastReceivedAt: now,
      addedAt: now,
    })),
  });
});
afterAll(() => database?.close());

beforeEach(async () => {
  elapsedMs = 1_000_000;
  waiting = 0;
  const newest = await database.prisma.policyVersion.aggregate({ _max: { generation: true } });
  await openPolicies().save({
    projectId: 1,
    body: { settings: { thresholds: { ceiling: 50_000 } } },
    expected: newest._max.generation ?? 0,
    reason: "a test",
    actor: { kind: "local" },
    rollout: {
      strategy: "linear",
      share: 0.34,
      bake_s: 3_600,
      halt: { rejections: 1, rise: 2 },
    },
  });
  await listen();
});

const openPolicies = () =>
  new Policies({
    prisma: database.prisma,
    hub: { policyChanged: () => {}, onPolicyChanged: () => () => {} },
    log,
    clock: Date.now,
  });

/** What leads rollouts in a server that has just started. */
const startServer = () =>
  new Rollouts({
    prisma: database.prisma,
    policies: openPolicies(),
    freshness: { wait: async () => ({ events: waiting, ms: 0 }) },
    log,
    clock: Date.now,
    elapsed: () => elapsedMs,
  });

const listen = (status = "unknown") => database.prisma.harness.updateMany({ data: { status } });

async function bakedMs(): Promise<number> {
  const row = await database.prisma.policyRollout.findFirstOrThrow({ where: { state: "running" } });
  return row.bakedMs;
}

/** Lets so many milliseconds pass before each of some looks. */
async function lookEvery(server: Rollouts, steps: readonly number[]): Promise<void> {
  for (const ms of steps) {
    elapsedMs += ms;
    await server.look();
  }
}

describe("the time of a stage", () => {
  it("is what passes between two looks of a server, and none before its first", async () => {
    await lookEvery(startServer(), [60_000]);
    expect(await bakedMs()).toBe(0);
    const server = startServer();
    await lookEvery(server, [60_000, 2_000, 2_000, 1_500]);
    expect(await bakedMs()).toBe(5_500);
  });

  it("is counted once by three servers, whatever the order of their looks", async () => {
    const servers = [startServer(), startServer(), startServer()];
    for (let round = 0; round < 30; round += 1) {
      elapsedMs += 700;
      await servers[(round * round) % 3]!.look();
    }
    expect(await bakedMs()).toBeGreaterThan(10_000);
    expect(await bakedMs()).toBeLessThanOrEqual(30 * 700);
    await Promise.all(servers.map((server) => server.look()));
    const before = await bakedMs();
    elapsedMs += 2_000;
    await Promise.all(servers.map((server) => server.look()));
    expect((await bakedMs()) - before).toBeLessThanOrEqual(2_000);
  });

  it("passes on when one of two servers is killed, and counts no hour for one that stood still", async () => {
    const [one, other] = [startServer(), startServer()];
    await lookEvery(one, [0, 2_000]);
    await lookEvery(other, [0, 2_000, 2_000]);
    expect(await bakedMs()).toBe(6_000);
    // The first one goes on after an hour; the other has counted meanwhile.
    await lookEvery(other, [2_000]);
    elapsedMs += 3_600_000;
    await one.look();
    expect(await bakedMs()).toBe(8_000);
    await other.look();
    expect(await bakedMs()).toBe(12_000);
  });

  it("stands still while no harness of the stage is connected", async () => {
    const server = startServer();
    await lookEvery(server, [0, 2_000]);
    await listen("bye");
    await lookEvery(server, [2_000, 2_000]);
    expect(await server.read(1)).toMatchObject({ waits_for: "harness", next_at: null, connected: 0 });
    await listen();
    await lookEvery(server, [0, 2_000]);
    expect(await bakedMs()).toBe(4_000);
  });

  it("stands still while what harnesses reported is not projected", async () => {
    const server = startServer();
    await lookEvery(server, [0]);
    waiting = 1;
    await lookEvery(server, [2_000, 2_000, 2_000, 2_000]);
    expect(await bakedMs()).toBe(0);
  });
});

it("reaches all harnesses at once when a person has advanced it to a stage that adds none", async () => {
  const { generation } = (await startServer().read(1))!;
  await database.prisma.policyStep.updateMany({ where: { generation }, data: { share: 0.999_999_999 } });
  const changed = startServer();
  await changed.change(1, { generation, stage: 0, action: "advance" }, { kind: "local" });
  expect(await changed.read(1)).toMatchObject({ stage: 1, own: { connected: 0 }, state: "running" });
  await changed.look();
  expect(await changed.read(1)).toMatchObject({ state: "finished" });
});

it("a stage chooses again if none of its harnesses exists, and only then", async () => {
  const server = startServer();
  await server.look();
  expect(await server.read(1)).toMatchObject({ offered: 1, own: { connected: 1 } });
  // All said goodbye when the version was saved.
  await database.prisma.policyStep.updateMany({ where: { generation: { gt: 0 } }, data: { share: 0 } });
  const restarted = startServer();
  expect(await restarted.read(1)).toMatchObject({ offered: 0, waits_for: "harness" });
  await restarted.look();
  expect(await restarted.read(1)).toMatchObject({ offered: 1, own: { connected: 1 }, stage: 0 });
  await listen("bye");
  await restarted.look();
  await listen();
  expect(await restarted.read(1)).toMatchObject({ offered: 1, own: { connected: 1 } });
});
