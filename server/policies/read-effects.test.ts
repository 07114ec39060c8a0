import type { PolicyBody, PolicyVersion } from "@plimsoll/protocol/policy";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { queriesOf } from "../db/sql.ts";
import { PolicyBook } from "../lines/policy-book.ts";
import { type TestIngest, type TestPipeline, testIngest } from "../testing/ingest.ts";
import { until } from "../testing/until.ts";
import { ceilingChanges, readCeilingEffects } from "./read-effects.ts";

const HOUR = 3_600_000;
const DAY = 24 * HOUR;
const NOW = Date.now();
const SAVED = NOW - 16 * DAY;
const TURNS = 60;

const ceiling = (tokens: number): PolicyBody => ({
  settings: { thresholds: { ceiling: tokens } },
  layers: [],
});

describe("changes of ceilings", () => {
  const version = (generation: number, body: PolicyBody, ...shares: number[]): PolicyVersion => ({
    ...{ generation, body },
    steps: shares.map((share, index) => ({ at: generation * 10 + index, share, harnesses: [] })),
  });
  const none: PolicyBody = { settings: {}, layers: [] };
  const layer: PolicyBody = {
    settings: {},
    layers: [{ scope: { family: "mine" }, settings: { thresholds: { ceiling: 70_000 } } }],
  };

  it("are the versions that all harnesses were offered and that have another ceiling than the one before", () => {
    const versions = [
      version(0, ceiling(200_000), 1),
      version(1, ceiling(100_000), 0.1, 1),
      // Nothing about ceilings.
      version(2, { settings: { ...ceiling(100_000).settings, overflow: "cut" }, layers: [] }, 1),
      // Under way, and halted.
      version(3, ceiling(50_000), 0.1, 0.5),
      version(4, ceiling(40_000), 0.5, 0),
      version(5, layer, 1),
      version(6, none, 1),
    ];
    const changes = ceilingChanges(versions).map((change) => [
      change.generation,
      change.before?.generation,
      change.offeredAt,
    ]);
    expect(changes).toEqual([
      [0, undefined, 0],
      [1, 0, 11],
      [5, 2, 50],
      [6, 5, 60],
    ]);
    expect(ceilingChanges([version(1, none, 1)])).toEqual([]);
  });
});

describe("what the latest change of ceilings did", () => {
  let path: TestIngest;
  let server: TestPipeline;

  /** Sessions of an instance: from 50k tokens on every fourth call fails, and below every tenth; compacted at a ceiling. */
  function sessions(
    name: string,
    harness: string,
    from: number,
    { count, to }: { count: number; to: number },
  ) {
    return Array.from({ length: count }, (_, session) => {
      const step = 1_500 + 60 * session;
      return Array.from({ length: TURNS }, (_, n) => {
        const tokens = step * (1 + (n % Math.floor(to / step)));
        const failed = (n + session) % (tokens >= 50_000 ? 4 : 10) === 0 ? 1 : 0;
        return {
          ...{ type: "turn", id: `t-${n}`, session: `${name}-${session}`, harness },
          ...{ at: from + session * HOUR + n * 1_000, model: "model-b", usage: { input_tokens: tokens } },
          outcome: { calls: 1, failed },
        };
      });
    }).flat();
  }
  const ack = (harness: string, status: string) => ({
    ...{
      type: "policy_ack",
      id: `ack-${status}`,
      at: SAVED + HOUR,
      harness,
      generation: 2,
      hash: "a".repeat(64),
      status,
    },
  });

  async function effects() {
    const { prisma } = path;
    const policy = await PolicyBook.read(queriesOf({ prisma }), 1);
    return readCeilingEffects({ prisma, projectId: 1, policy, now: NOW, lag: { events: 0, ms: 0 } });
  }

  async function save(generation: number, body: PolicyBody, at: number) {
    const row = { projectId: 1, generation, createdAt: new Date(at) };
    await path.prisma.policyVersion.create({
      data: { ...row, hash: "h", body: body as object, reason: "a test", actor: "local" },
    });
    await path.prisma.policyStep.create({
      data: { ...row, revision: generation, at: new Date(at), share: 1, harnesses: [] },
    });
  }

  beforeAll(async () => {
    path = await testIngest({ lines: false });
    server = await path.start();
    const events = [
      ...sessions("before", "mine@vm-1", SAVED - 10 * DAY, { count: 40, to: 150_000 }),
      // Too early to be compared with.
      ...sessions("long ago", "mine@vm-1", SAVED - 40 * DAY, { count: 3, to: 150_000 }),
      ack("mine@vm-1", "applied"),
      ...sessions("after", "mine@vm-1", SAVED + 2 * HOUR, { count: 40, to: 50_000 }),
      // Before the harness said that it has it, and at harnesses that do not have it.
      ...sessions("between", "mine@vm-1", SAVED + 60_000, { count: 1, to: 150_000 }),
      ack("mine@vm-2", "rejected"),
      ...sessions("rejected", "mine@vm-2", SAVED + 2 * HOUR, { count: 2, to: 150_000 }),
      ...sessions("silent", "mine@vm-3", SAVED + 2 * HOUR, { count: 2, to: 150_000 }),
    ];
    for (let at = 0; at < events.length; at += 500)
      expect((await server.send(...events.slice(at, at + 500))).rejected).toEqual([]);
    await path.prisma
      .$executeRaw`UPDATE agents SET last_received_at = last_received_at - interval '1 minute'`;
    await until(async () => (await path.prisma.agent.count({ where: { uncounted: true } })) === 0);
  });
  afterAll(async () => {
    await server?.close();
    await path?.close();
  });

  it("is nothing without a policy, and with one that is older than three months", async () => {
    const nothing = { generation: null, before: null, since: null, judged_from: null, items: [] };
    expect(await effects()).toEqual(nothing);
    await save(1, ceiling(150_000), NOW - 91 * DAY);
    expect(await effects()).toEqual(nothing);
  });

  it("compares sessions of harnesses that applied it with those before it was saved", async () => {
    await save(2, ceiling(50_000), SAVED);
    const found = await effects();
    expect(found).toMatchObject({
      ...{ generation: 2, before: 1, since: new Date(SAVED).toISOString() },
      judged_from: new Date(SAVED + 14 * DAY).toISOString(),
    });
    expect(found.items).toHaveLength(1);
    const [effect] = found.items;
    expect(effect).toMatchObject({
      ...{ harness: "mine", model: "model-b", ceiling_before: 150_000, ceiling: 50_000 },
      ...{ before: { sessions: 40 }, after: { sessions: 40 }, verdict: "met" },
    });
    expect(effect!.after.rate).toBeCloseTo(0.1, 2);
    expect(effect!.measured!.high).toBeLessThan(0);
    expect(effect!.estimate!.change).toBeLessThan(-0.02);
  });

  it("is about the ceilings, also after a version that leaves them", async () => {
    await save(3, { settings: { ...ceiling(50_000).settings, overflow: "cut" }, layers: [] }, NOW - DAY);
    expect(await effects()).toMatchObject({ generation: 2, items: [{ verdict: "met" }] });
  });

  it("is too early to say of a new one", async () => {
    await save(4, ceiling(60_000), NOW - HOUR);
    expect(await effects()).toMatchObject({
      ...{ generation: 4, before: 3 },
      items: [{ ceiling_before: 50_000, verdict: "too_early", after: { sessions: 0, rate: null } }],
    });
  });
});
