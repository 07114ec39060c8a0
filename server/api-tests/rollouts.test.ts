import type {
  AuditPage,
  ErrorBody,
  PolicyAnswer,
  PolicyHarnessList,
  RolloutAnswer,
  RolloutView,
  WholePolicy,
} from "@plimsoll/protocol/api";
import { afterAll, afterEach, beforeAll, describe, expect, it } from "vitest";
import { migratedDatabase } from "../testing/database.ts";
import { startTestServer, type TestServer } from "../testing/server.ts";
import { until } from "../testing/until.ts";
import { caughtUp, sendAndWait, turn, unique } from "./support.ts";

let database: Awaited<ReturnType<typeof migratedDatabase>>;
let a: TestServer;
let b: TestServer;
let fleet: string[];

const MINUTE = 60_000;

beforeAll(async () => {
  database = await migratedDatabase();
  a = await startTestServer({ databaseUrl: database.url });
  b = await startTestServer({ databaseUrl: database.url });
  fleet = Array.from({ length: 20 }, (_, n) => `mine@vm-${n}`);
  await sendAndWait(
    a,
    fleet.map((harness) => turn(unique("session"), 1_000, { harness })),
  );
});
afterEach(async () => {
  await Promise.all([a.expectHealthy(), b.expectHealthy()]);
});
afterAll(async () => {
  await Promise.all([a?.stop(), b?.stop()]);
  await database?.close();
});

async function put(server: TestServer, ceiling: number, rollout?: object, more: object = {}) {
  const { generation } = (await server.get<WholePolicy>("/api/v1/policy")).body;
  return server.request<WholePolicy & ErrorBody>("/api/v1/policy", {
    method: "PUT",
    headers: { "content-type": "application/json", "if-match": `"${generation}"` },
    body: JSON.stringify({
      policy: { settings: { thresholds: { ceiling } } },
      reason: "a test",
      rollout,
      ...more,
    }),
  });
}

async function save(ceiling: number, rollout?: object): Promise<number> {
  const { status, body, text } = await put(a, ceiling, rollout);
  expect(status, text).toBe(200);
  return body.generation;
}

const rolloutOf = async (server = a): Promise<RolloutView> =>
  (await server.get<RolloutAnswer>("/api/v1/policy/rollout")).body.rollout!;

const policyOf = async (harness: string, server = a): Promise<PolicyAnswer> =>
  (await server.get<PolicyAnswer>(`/api/v1/policy?harness=${encodeURIComponent(harness)}`)).body;

/** Instances that are offered a generation. */
async function offered(generation: number, server = a): Promise<string[]> {
  const answers = await Promise.all(
    fleet.map(async (harness) => (await policyOf(harness, server)).generation),
  );
  return fleet.filter((_, index) => answers[index] === generation);
}

const haveSpoken = new Set<string>();

async function acknowledge(harness: string, more: object = {}): Promise<void> {
  haveSpoken.add(harness);
  const { generation, hash } = await policyOf(harness);
  const id = unique("ack");
  const ack = {
    id,
    type: "policy_ack",
    at: Date.now(),
    harness,
    generation,
    hash,
    status: "applied",
    ...more,
  };
  expect((await sendAndWait(a, [ack])).body).toMatchObject({ accepted: 1 });
}

const change = (action: string, { generation, stage }: RolloutView, server = a) =>
  server.request<RolloutAnswer & ErrorBody>("/api/v1/policy/rollout", {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify({ generation, stage, action }),
  });

const reached = (state: string, server = a) => until(async () => (await rolloutOf(server)).state === state);

describe("a rollout", () => {
  it("offers a version to the canaries, and to all after one of them applied it", async () => {
    const before = await save(50_000);
    const generation = await save(40_000, { strategy: "canary", share: 0.3, bake_s: 1 });
    const canaries = await offered(generation);
    expect(canaries).toHaveLength(6);
    expect(await offered(generation, b)).toEqual(canaries);
    expect(await offered(before)).toHaveLength(fleet.length - canaries.length);
    await until(async () => (await rolloutOf()).waits_for === "application");
    expect(await rolloutOf(b)).toMatchObject({ generation, state: "running", stage: 0, applied: 0 });
    await acknowledge(canaries[0]!);
    await reached("finished");
    await until(async () => (await offered(generation)).length === fleet.length);
    await until(async () => (await offered(generation, b)).length === fleet.length);
    expect(await rolloutOf()).toMatchObject({
      stage: 1,
      applied: 1,
      waits_for: null,
      ended_at: expect.any(String),
    });
  });

  it("goes on once a session has begun with what was written, and not before", async () => {
    const generation = await save(45_000, { strategy: "canary", share: 0.3, bake_s: 1 });
    const [canary] = await offered(generation);
    await acknowledge(canary!, { status: "written" });
    await until(async () => (await rolloutOf()).waits_for === "application");
    expect(await rolloutOf()).toMatchObject({ generation, state: "running", stage: 0, applied: 0 });
    const states = await a.get<PolicyHarnessList>("/api/v1/policy/harnesses");
    expect(states.body.harnesses.find(({ instance }) => instance === canary)).toMatchObject({
      state: "written",
      running: null,
    });
    await acknowledge(canary!, { status: "written", effective: { thresholds: { ceiling: 45_000 } } });
    await reached("finished");
    expect(await rolloutOf()).toMatchObject({ applied: 1 });
  });

  it("names its canaries, and finds one if the share reaches nobody", async () => {
    const generation = await save(41_000, {
      strategy: "canary",
      share: 0,
      harnesses: [fleet[3]],
      bake_s: 600,
    });
    expect(await offered(generation)).toEqual([fleet[3]]);
    const next = await save(42_000, { strategy: "canary", share: 0.000_001, bake_s: 600 });
    expect(await offered(next)).toHaveLength(1);
    expect(await rolloutOf()).toMatchObject({ connected: 20, offered: 1, next_set: 1 });
  });

  it("counts harnesses whose events were acknowledged just before", async () => {
    const joining = Array.from({ length: 20 }, (_, n) => `joining@vm-${n}`);
    await a.send(joining.map((harness) => turn(unique("session"), 1_000, { harness })));
    await save(42_500, { strategy: "canary", share: 0.25, bake_s: 600 });
    expect(await rolloutOf()).toMatchObject({ connected: 40, offered: 10 });
    const bye = joining.map((harness) => ({
      type: "harness",
      id: unique("bye"),
      at: Date.now(),
      harness,
      name: "x",
      status: "bye",
    }));
    await sendAndWait(a, bye);
    await save(42_600, { strategy: "canary", share: 0.25, bake_s: 600 });
    expect(await rolloutOf()).toMatchObject({ connected: 20, offered: 5 });
  });

  it("goes on in equal steps", async () => {
    const generation = await save(43_000, { strategy: "linear", share: 0.4, bake_s: 600 });
    let reached = await offered(generation);
    const sizes = [reached.length];
    for (const stage of [0, 1]) {
      const { status, body } = await change("advance", await rolloutOf(), stage === 0 ? a : b);
      expect(status).toBe(200);
      expect(body.rollout!.stage).toBe(stage + 1);
      await until(async () => (await offered(generation)).length > sizes.at(-1)!);
      const now = await offered(generation);
      expect(now).toEqual(expect.arrayContaining(reached));
      reached = now;
      sizes.push(now.length);
    }
    expect(sizes).toEqual([8, 16, 20]);
    expect(await rolloutOf()).toMatchObject({
      state: "finished",
      stages: [{ share: 0.4 }, { share: 0.8 }, { share: 1 }],
    });
  });

  it("halts as soon as a harness rejects the version, and the others keep the old one", async () => {
    const before = await save(50_000);
    const generation = await save(1, { strategy: "canary", share: 0.3, bake_s: 600 });
    const canaries = await offered(generation);
    const message = "thresholds.ceiling is 1, and this harness takes at least 5000";
    await acknowledge(canaries[0]!, { status: "rejected", code: "out_of_bounds", message });
    await reached("halted");
    expect(await rolloutOf(b)).toMatchObject({
      halt_reason: "rejected",
      rejected: [{ instance: canaries[0], code: "out_of_bounds", message }],
      next_at: null,
    });
    expect(await offered(before)).toHaveLength(fleet.length - canaries.length);
    const { body } = await a.get<AuditPage>("/api/v1/audit?topic=policies&limit=1");
    expect(body.items[0]).toMatchObject({
      action: "rollout_halted",
      actor: { kind: "server" },
      target: `generation ${generation}`,
      detail: "a harness rejected it",
    });
  });

  it("that is resumed does not halt at the same rejection again", async () => {
    const seen = await rolloutOf();
    expect((await change("resume", seen)).body.rollout).toMatchObject({
      state: "running",
      halt_reason: null,
    });
    const canaries = await offered(seen.generation);
    expect((await change("halt", await rolloutOf())).body.rollout).toMatchObject({ halt_reason: "asked" });
    await change("resume", await rolloutOf(), b);
    await acknowledge(canaries[1]!, { status: "rejected", code: "out_of_bounds" });
    await reached("halted");
    expect((await rolloutOf()).rejected).toHaveLength(2);
  });

  it("that every canary rejected says so when it is resumed, and goes on with the next set", async () => {
    await save(50_000);
    const generation = await save(2, { strategy: "canary", share: 0.1, bake_s: 1 });
    const first = await offered(generation);
    expect(first).toHaveLength(2);
    for (const harness of first) await acknowledge(harness, { status: "rejected", code: "out_of_bounds" });
    await reached("halted");
    await change("resume", await rolloutOf());
    await until(async () => (await rolloutOf()).waits_for === "next_set");
    expect(await rolloutOf()).toMatchObject({
      own: { connected: 2, applied: 0, rejected: 2 },
      next_set: 2,
      next_at: null,
    });
    const seen = await rolloutOf(b);
    const answers = await Promise.all([a, b].map((server) => change("next_set", seen, server)));
    expect(answers.map(({ status }) => status).sort()).toEqual([200, 409]);
    const both = await offered(generation);
    expect(both).toHaveLength(4);
    expect(both).toEqual(expect.arrayContaining(first));
    await acknowledge(both.find((harness) => !first.includes(harness))!);
    await reached("finished");
    expect((await change("next_set", await rolloutOf())).status).toBe(409);
  });

  it("has no next set once all connected harnesses are offered the version", async () => {
    const generation = await save(3, { strategy: "canary", share: 0.6, bake_s: 600 });
    expect((await change("next_set", await rolloutOf())).body.rollout).toMatchObject({
      offered: 20,
      next_set: 0,
      stage: 0,
    });
    expect(await offered(generation)).toEqual(fleet);
    const { status, body } = await change("next_set", await rolloutOf());
    expect([status, body.error.message]).toEqual([
      409,
      expect.stringContaining("offered this version already"),
    ]);
  });

  it("halts at a rise in restarts, and not at as many as before", async () => {
    await save(50_000);
    const generation = await save(40_000, { strategy: "canary", share: 0.6, bake_s: 600 });
    // What it says here is older than what others have said above.
    const harness = (await offered(generation)).find((one) => !haveSpoken.has(one))!;
    const now = Date.now();
    const history = (from: number, restarts: number, name: string) => {
      const session = unique(name);
      return [
        ...Array.from({ length: 100 }, (_, n) => turn(session, 1_000 + n, { harness, at: from + n * 1_000 })),
        ...Array.from({ length: restarts }, (_, n) => ({
          id: unique("restart"),
          type: "restarted" as const,
          harness,
          session,
          at: from + 500 + n * 10_000,
          number: n + 1,
          previous_turns: 10,
          carryover_turns: 0,
          reason: "a test",
        })),
      ];
    };
    expect((await sendAndWait(a, history(now - 40 * MINUTE, 2, "before"))).body.rejected).toEqual([]);
    await acknowledge(harness, { at: now - 10 * MINUTE });
    await sendAndWait(a, history(now - 8 * MINUTE, 3, "calm"));
    await until(async () => (await rolloutOf()).restarts.since.turns === 100);
    expect(await rolloutOf()).toMatchObject({
      state: "running",
      restarts: { before: { events: 2 }, since: { events: 3, turns: 100 } },
    });
    await sendAndWait(b, history(now - 4 * MINUTE, 9, "wild"));
    await reached("halted");
    expect(await rolloutOf()).toMatchObject({
      halt_reason: "more_restarts",
      restarts: { since: { events: 12, turns: 200 } },
    });
  });

  it("ends when a newer version is saved or an old one restored", async () => {
    const first = await save(44_000, { strategy: "canary", bake_s: 600 });
    const generation = await save(45_000);
    expect(await rolloutOf()).toMatchObject({ generation: first, state: "superseded" });
    expect(await offered(generation)).toEqual(fleet);
    expect((await change("resume", await rolloutOf())).body.error).toMatchObject({ code: "conflict" });
  });

  it("is advanced once if two people press at the same time", async () => {
    await save(46_000, { strategy: "linear", share: 0.1, bake_s: 600 });
    const seen = await rolloutOf();
    const answers = await Promise.all([a, b, a, b].map((server) => change("advance", seen, server)));
    expect(answers.map(({ status }) => status).sort()).toEqual([200, 409, 409, 409]);
    expect((await rolloutOf()).stage).toBe(1);
  });

  it("refuses plans that make no sense, with the field", async () => {
    for (const [rollout, field] of [
      [{ strategy: "canary", share: 0, bake_s: 1 }, "rollout.share"],
      [{ strategy: "canary", share: 1, bake_s: 1 }, "rollout.share"],
      [{ strategy: "canary", bake_s: 0 }, "rollout.bake_s"],
      [{ strategy: "linear", bake_s: 1 }, "rollout.share"],
      [{ strategy: "slowly" }, "rollout.strategy"],
    ] as const) {
      const { status, body } = await put(a, 47_000, rollout);
      expect([status, body.error.message.split(":")[0]]).toEqual([400, field]);
    }
    const { body } = await put(a, 47_000, { strategy: "canary", bake_s: 1 }, { from: "history" });
    expect(body.error.message).toContain("rollout");
  });
});

it("goes on after the only server was killed in the middle", async () => {
  const own = await migratedDatabase();
  let server = await startTestServer({ databaseUrl: own.url });
  try {
    await sendAndWait(server, [turn(unique("session"), 1_000, { harness: "mine@1" })]);
    await put(server, 50_000, { strategy: "canary", bake_s: 1 });
    await until(async () => (await rolloutOf(server)).waits_for === "application");
    await server.kill9();
    server = await startTestServer({ databaseUrl: own.url });
    await caughtUp(server);
    expect(await rolloutOf(server)).toMatchObject({ state: "running", stage: 0 });
    const { generation, hash } = await policyOf("mine@1", server);
    const ack = { id: "ack", type: "policy_ack", at: Date.now(), harness: "mine@1", generation, hash };
    await sendAndWait(server, [{ ...ack, status: "applied" }]);
    await reached("finished", server);
    expect((await policyOf("somebody@else", server)).generation).toBe(1);
    await server.expectHealthy();
  } finally {
    await server.stop();
    await own.close();
  }
});
