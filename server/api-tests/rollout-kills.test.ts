import type { PolicyAnswer, RolloutAnswer, RolloutView, WholePolicy } from "@plimsoll/protocol/api";
import pg from "pg";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { migratedDatabase } from "../testing/database.ts";
import { startTestServer, type TestServer } from "../testing/server.ts";
import { until } from "../testing/until.ts";
import { sendAndWait, turn, unique } from "./support.ts";

const FLEET = Array.from({ length: 9 }, (_, n) => `mine@vm-${n}`);
/** Milliseconds after its start at which a server is killed: in each part of a look, which comes every 2 s. */
const LIVES = [0, 500, 1_100, 1_700, 2_300, 3_100];

let database: Awaited<ReturnType<typeof migratedDatabase>>;

beforeAll(async () => {
  database = await migratedDatabase();
});
afterAll(() => database?.close());

const start = () => startTestServer({ databaseUrl: database.url });

const rolloutOf = async (server: TestServer): Promise<RolloutView> =>
  (await server.get<RolloutAnswer>("/api/v1/policy/rollout")).body.rollout!;

async function policyOf(server: TestServer, harness: string): Promise<PolicyAnswer> {
  return (await server.get<PolicyAnswer>(`/api/v1/policy?harness=${encodeURIComponent(harness)}`)).body;
}

async function offered(server: TestServer, generation: number): Promise<string[]> {
  const answers = await Promise.all(FLEET.map((harness) => policyOf(server, harness)));
  return FLEET.filter((_, index) => answers[index]!.generation === generation);
}

/** A server reads the policy again a moment after the rollout went on, and its requests meanwhile are offered the one before. */
const offeredTo = (server: TestServer, generation: number, count: number) =>
  until(async () => (await offered(server, generation)).length === count);

async function acknowledge(server: TestServer, harness: string, more: object = {}): Promise<void> {
  const { generation, hash } = await policyOf(server, harness);
  const ack = { id: unique("ack"), type: "policy_ack", at: Date.now(), harness, generation, hash };
  const { body } = await sendAndWait(server, [{ ...ack, status: "applied", ...more }]);
  expect(body).toMatchObject({ accepted: 1 });
}

/** Saves a version with a rollout and returns its generation. */
async function save(server: TestServer, ceiling: number, rollout: object): Promise<number> {
  const { generation } = (await server.get<WholePolicy>("/api/v1/policy")).body;
  const answer = await server.request<WholePolicy>("/api/v1/policy", {
    method: "PUT",
    headers: { "content-type": "application/json", "if-match": `"${generation}"` },
    body: JSON.stringify({ policy: { settings: { thresholds: { ceiling } } }, reason: "a test", rollout }),
  });
  expect(answer.status, answer.text).toBe(200);
  return answer.body.generation;
}

const greet = (server: TestServer) =>
  sendAndWait(
    server,
    FLEET.map((harness) => turn(unique("session"), 1_000, { harness })),
  );

const pause = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms));

/** Kills and starts servers again, and looks at the rollout in each life: as soon as it listens, and just before it ends. */
async function throughKills(server: TestServer, look: (server: TestServer) => Promise<void>) {
  let living = server;
  for (const life of LIVES) {
    await living.kill9();
    living = await start();
    await look(living);
    await pause(life);
    await look(living);
  }
  return living;
}

async function query(text: string): Promise<pg.QueryResult> {
  const client = new pg.Client(database.url);
  await client.connect();
  try {
    return await client.query(text);
  } finally {
    await client.end();
  }
}

describe("a rollout whose only server is killed again and again", () => {
  // A test each: twelve starts of a server take longer than a test may on a busy machine.
  it.each([0, 1])("passes step %i only with an application by a harness of that step", async (killed) => {
    let server = await start();
    try {
      await greet(server);
      const generation = await save(server, 50_000 + killed, { strategy: "linear", share: 0.34, bake_s: 1 });
      const stays = (stage: number, count: number) => async (living: TestServer) => {
        expect(await rolloutOf(living)).toMatchObject({ state: "running", stage });
        expect(await offered(living, generation)).toHaveLength(count);
      };
      const first = await offered(server, generation);
      expect(first).toHaveLength(3);
      if (killed === 0) server = await throughKills(server, stays(0, 3));
      await acknowledge(server, first[0]!);
      await until(async () => (await rolloutOf(server)).stage === 1);
      await offeredTo(server, generation, 6);
      const second = await offered(server, generation);
      expect(second).toHaveLength(6);
      expect(second).toEqual(expect.arrayContaining(first));
      // The first ones report again, and that passes no step of the others.
      for (const harness of first) await acknowledge(server, harness);
      if (killed === 1) server = await throughKills(server, stays(1, 6));
      await acknowledge(server, second.find((harness) => !first.includes(harness))!);
      await until(async () => (await rolloutOf(server)).state === "finished");
      await offeredTo(server, generation, FLEET.length);
      await server.expectHealthy();
    } finally {
      await server.stop();
    }
  });

  it.each([
    ["an outage of an hour", "- interval '1 hour'"],
    ["a clock that was set back by an hour", "+ interval '1 hour'"],
  ])("neither gains nor loses time by %s", async (_, shift) => {
    let server = await start();
    try {
      await greet(server);
      const generation = await save(server, 55_000, { strategy: "linear", share: 0.34, bake_s: 15 });
      await acknowledge(server, (await offered(server, generation))[0]!);
      await server.kill9();
      await query(`UPDATE policy_rollouts SET since = since ${shift}, baked_ms = 0`);
      server = await start();
      expect(await rolloutOf(server)).toMatchObject({ stage: 0, waits_for: "bake" });
      await until(async () => (await rolloutOf(server)).stage === 1);
      const [row] = (await query("SELECT baked_ms FROM policy_rollouts WHERE state = 'running'")).rows;
      expect(row.baked_ms).toBeLessThan(5_000);
    } finally {
      await server.stop();
    }
  });

  it("gains no time while one of two servers is dead and the other stands still", async () => {
    const [server, other] = [await start(), await start()];
    const row = async () =>
      (await query("SELECT stage, baked_ms FROM policy_rollouts WHERE state = 'running'")).rows[0];
    try {
      await greet(server);
      const generation = await save(server, 57_000, { strategy: "linear", share: 0.34, bake_s: 20 });
      await acknowledge(server, (await offered(server, generation))[0]!);
      await other.kill9();
      const before = await row();
      server.kill("SIGSTOP");
      await pause(21_000);
      server.kill("SIGCONT");
      // It looks again, and counts the pause as one look.
      let counted = 0;
      await until(async () => {
        counted = (await row()).baked_ms - before.baked_ms;
        return counted > 0;
      });
      expect(counted).toBeLessThan(10_000);
      expect(await rolloutOf(server)).toMatchObject({ stage: 0, waits_for: "bake" });
    } finally {
      server.kill("SIGCONT");
      await Promise.all([server.stop(), other.stop()]);
    }
  });

  it("halts at a rejection that was acknowledged just before the kill", async () => {
    let server = await start();
    try {
      await greet(server);
      const generation = await save(server, 60_000, { strategy: "linear", share: 0.34, bake_s: 600 });
      const [one, other] = await offered(server, generation);
      await acknowledge(server, one!);
      const { hash } = await policyOf(server, other!);
      const rejection = {
        id: unique("ack"),
        type: "policy_ack",
        at: Date.now(),
        harness: other,
        generation,
        hash,
        status: "rejected",
        code: "out_of_bounds",
      };
      // Without waiting: it is in the journal, and perhaps nowhere else.
      const { status } = await server.request("/api/v1/events", {
        method: "POST",
        headers: { "content-type": "application/json" },
        body: JSON.stringify([rejection]),
      });
      expect(status).toBe(200);
      await server.kill9();
      await query("UPDATE policy_rollouts SET baked_ms = 600000");
      server = await start();
      await until(async () => (await rolloutOf(server)).state !== "running");
      expect(await rolloutOf(server)).toMatchObject({ state: "halted", stage: 0, halt_reason: "rejected" });
    } finally {
      await server.stop();
    }
  });
});
