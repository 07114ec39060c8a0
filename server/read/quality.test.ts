import type { QualityQuery } from "@plimsoll/protocol/api";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { PolicyBook } from "../lines/policy-book.ts";
import { type TestIngest, type TestPipeline, testIngest } from "../testing/ingest.ts";
import { until } from "../testing/until.ts";
import { readQuality } from "./quality.ts";

const MINUTE = 60_000;
const NOW = Date.now();
const START = NOW - 600 * MINUTE;
const SESSIONS = 40;
const TURNS = 60;

let path: TestIngest;
let server: TestPipeline;

const iso = (minute: number) => new Date(START + minute * MINUTE).toISOString();
function quality(query: Partial<QualityQuery> = {}) {
  const { prisma } = path;
  const reader = { prisma, projectId: 1, policy: PolicyBook.empty, now: NOW, lag: { events: 0, ms: 0 } };
  return readQuality(reader, { from: iso(-1), to: iso(601), signal: "failed", ...query });
}

/** Sessions at two instances of one kind, whose calls fail every tenth time, and from 50k tokens on every fourth time. */
const turns = Array.from({ length: SESSIONS }, (_, session) =>
  Array.from({ length: TURNS }, (_, n) => {
    const tokens = (n + 1) * (700 + 50 * session);
    const every = tokens >= 50_000 ? 4 : 10;
    return {
      ...{ type: "turn", id: `t-${n}`, session: `s-${session}`, harness: `mine@vm-${session % 2}` },
      ...{ at: START + n * 1_000, model: "model-b", usage: { input_tokens: tokens } },
      ...(n % 7 === 6 && { agent: "helper", parent_agent: "main" }),
      outcome: { calls: 1, failed: (n + session) % every === 0 ? 1 : 0, ...(n === 5 && { repeated: 1 }) },
    };
  }),
).flat();

beforeAll(async () => {
  path = await testIngest();
  server = await path.start();
  for (let at = 0; at < turns.length; at += 500) await server.send(...turns.slice(at, at + 500));
  await server.send({
    ...{ type: "turn", id: "old", session: "old", harness: "mine@vm-0", model: "model-a" },
    ...{ at: START - 2 * MINUTE, usage: { input_tokens: 1_000 }, outcome: { calls: 1, repeated: 0 } },
  });
  await server.send(
    ...Array.from({ length: 8 }, (_, n) => ({
      ...{ type: "turn", id: "many", session: `many-${n}`, harness: "mine@vm-0", model: `many-${n}` },
      ...{ at: START - 20 * MINUTE, usage: { input_tokens: 1_000 }, outcome: { calls: 1, failed: 0 } },
    })),
  );
  await path.prisma.$executeRaw`UPDATE agents SET last_received_at = last_received_at - interval '1 minute'`;
  await until(async () => (await path.prisma.agent.count({ where: { uncounted: true } })) === 0);
});
afterAll(async () => {
  await server?.close();
  await path?.close();
});

describe("what came of tool calls", () => {
  test("is summed by kind of harness and model, each session with its sub-agents", async () => {
    const { groups, signals, complete, signal } = await quality();
    expect({ complete, signal }).toEqual({ complete: true, signal: "failed" });
    expect(groups).toHaveLength(1);
    const [group] = groups;
    const failed = turns.filter(({ outcome }) => outcome.failed === 1).length;
    expect(group).toMatchObject({
      harness: "mine",
      model: "model-b",
      sessions: SESSIONS,
      calls: turns.length,
    });
    expect(group!.rate).toBeCloseTo(failed / turns.length, 10);
    expect(signals.find((one) => one.signal === "failed")).toEqual({
      signal: "failed",
      calls: turns.length,
      found: failed,
    });
    expect(signals.find((one) => one.signal === "repeated")).toMatchObject({ found: SESSIONS });
  });

  test("shows by level where it gets worse", async () => {
    const [group] = (await quality()).groups;
    const inBand = turns.filter(
      ({ usage: { input_tokens: tokens } }) => tokens >= 50_000 && tokens < 100_000,
    );
    expect(group!.levels[2]).toMatchObject({ from: 50_000, to: 100_000, calls: inBand.length });
    expect(group!.levels.at(-1)).toMatchObject({ from: 400_000, to: null, calls: 0, rate: null });
    expect(group!.clearest).toMatchObject({ at: 50_000, verdict: "rises" });
    expect(group!.clearest!.low).toBeGreaterThan(0.05);
    expect(group!.clearest!.high).toBeLessThan(0.25);
  });

  test("leaves out sessions without a turn in the range, and other harnesses", async () => {
    expect((await quality({ from: iso(2), to: iso(3) })).groups).toEqual([]);
    const [group] = (await quality({ harness: "mine@vm-1" })).groups;
    expect(group!.sessions).toBe(SESSIONS / 2);
    expect((await quality({ harness: "nobody" })).signals.every(({ calls }) => calls === 0)).toBe(true);
  });

  test("has no group where no call has a result", async () => {
    const before = await quality({ from: iso(-10) });
    expect(before.groups.map(({ model }) => model)).toEqual(["model-b"]);
    const repeated = await quality({ from: iso(-10), signal: "repeated" });
    expect(repeated.groups.map(({ model }) => model)).toEqual(["model-b", "model-a"]);
  });

  test("counts the groups beyond the first 6", async () => {
    const many = await quality({ from: iso(-30), to: iso(-15) });
    expect({ listed: many.groups.length, more: many.more }).toEqual({ listed: 6, more: 2 });
    expect((await quality()).more).toBe(0);
    expect((await quality({ from: iso(-30), to: iso(-15), signal: "corrected" })).more).toBe(0);
  });

  test("leaves out deleted sessions", async () => {
    await path.prisma.session.updateMany({ where: { name: "s-0" }, data: { deletedAt: new Date() } });
    expect((await quality()).groups[0]!.sessions).toBe(SESSIONS - 1);
    await path.prisma.session.updateMany({ where: { name: "s-0" }, data: { deletedAt: null } });
  });
});
