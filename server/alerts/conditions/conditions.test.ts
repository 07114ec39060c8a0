import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { queriesOf } from "../../db/sql.ts";
import { PolicyBook } from "../../lines/policy-book.ts";
import { type TestAlerts, testAlerts } from "../../testing/alerts.ts";

let alerts: TestAlerts;
beforeEach(async () => {
  alerts = await testAlerts();
});
afterEach(() => alerts.close());

let serial = 0;
function turn(tokens: number, more: object = {}) {
  serial += 1;
  return {
    id: `t${serial}`,
    type: "turn",
    at: Date.now() - 50_000 + serial,
    harness: "phantom@one",
    session: "s",
    model: "m",
    context_window: 10_000,
    usage: { input_tokens: tokens },
    ...more,
  };
}

const told = async () =>
  (await alerts.sent()).map(({ kind, alerts: [one] }) => `${kind}: ${one!.end_reason ?? one!.why}`);

const run = (sql: string) => alerts.ingest.prisma.$executeRawUnsafe(sql);

/** Lets another process take over after a tick, with what was written meanwhile. */
async function evaluateAgain(): Promise<void> {
  await run("UPDATE alert_evaluators SET holder = NULL");
  await alerts.evaluator().evaluate();
}

/** Moves the receipt of everything into the past, as if time went by. */
async function wait(minutes: number): Promise<void> {
  const back = (column: string) =>
    `${column} = (${column} AT TIME ZONE 'UTC' - interval '${minutes} minutes') AT TIME ZONE 'UTC'`;
  for (const table of ["sessions", "agents", "harnesses"])
    await run(`UPDATE ${table} SET ${back("last_received_at")}, ${back("last_at")}`);
  await run(`UPDATE alert_evaluators SET ${back("watching_since")}`);
}

describe("silence", () => {
  it("of a session fires until something is received again", async () => {
    await alerts.rule({ condition: { type: "silence", longer_than: "10m" } });
    await alerts.pipeline.send(turn(10));
    await evaluateAgain();
    await wait(9);
    await evaluateAgain();
    expect(await told()).toEqual([]);
    await wait(1);
    await evaluateAgain();
    expect(await told()).toEqual([
      expect.stringMatching(/^firing: Nothing received since .* UTC, and the session has not ended$/),
    ]);
    await alerts.pipeline.close();
    await alerts.ingest.sendOnce([turn(11)]);
    await evaluateAgain();
    expect((await told()).at(-1)).toBe("resolved: data_returned");
  });

  it("says nothing of sessions that ended, that are long over, or that were imported", async () => {
    await alerts.rule({ condition: { type: "silence", longer_than: "10m" } });
    const lastYear = Date.now() - 365 * 86_400_000;
    await alerts.pipeline.send(
      turn(10, { session: "imported", at: lastYear }),
      turn(10, { session: "ended" }),
      { id: "e", type: "session", at: Date.now(), harness: "phantom@one", session: "ended", status: "ended" },
    );
    await evaluateAgain();
    await wait(11);
    await evaluateAgain();
    await alerts.ingest.sendOnce([turn(10, { session: "old" })]);
    await run(
      "UPDATE sessions SET last_received_at = now() - interval '2 days', last_at = now() - interval '2 days' WHERE name = 'old'",
    );
    await evaluateAgain();
    expect(await told()).toEqual([]);
  });

  it("before the server watched says nothing", async () => {
    await alerts.rule({ condition: { type: "silence", longer_than: "10m" } });
    await alerts.pipeline.send(turn(10));
    await evaluateAgain();
    await wait(11);
    // Nobody held the lease for a minute.
    await run("UPDATE alert_evaluators SET holder = NULL, renewed_at = now() - interval '1 minute'");
    await alerts.evaluator().evaluate();
    expect(await told()).toEqual([]);
  });

  const loop = (harness: string, session: string) => ({
    id: `${harness}/${session}`,
    type: "session",
    at: Date.now(),
    harness,
    session,
    status: "started",
    kind: "loop",
  });

  it("of a harness fires while a loop is at work, and ends when the harness says bye", async () => {
    await alerts.rule({ condition: { type: "harness_silence", longer_than: "10m" } });
    const idle = {
      id: "h",
      type: "harness",
      at: Date.now(),
      harness: "idle@one",
      status: "hello",
      name: "Idle",
    };
    // A conversation waits for its person.
    const conversation = { ...loop("chat@one", "s"), kind: "conversation" };
    await alerts.pipeline.send(
      turn(10),
      loop("phantom@one", "s"),
      idle,
      turn(10, { harness: "chat@one" }),
      conversation,
    );
    await evaluateAgain();
    await wait(11);
    await evaluateAgain();
    const [sent, ...others] = await alerts.sent();
    expect(sent).toMatchObject({
      kind: "firing",
      alerts: [{ subject: { harness: "phantom@one", session: null } }],
    });
    expect(others).toEqual([]);
    await alerts.ingest.sendOnce([{ ...idle, harness: "phantom@one", status: "bye" }]);
    await evaluateAgain();
    expect((await told()).at(-1)).toBe("resolved: session_ended");
  });

  describe("of a harness with a conversation", () => {
    const chat = (session: string) => ({ ...loop("chat@one", session), kind: "conversation" });
    const call = (stop_reason: string | undefined, more: object = {}) =>
      turn(10, { harness: "chat@one", ...(stop_reason && { stop_reason }), ...more });
    const at = Date.now() - 60_000;
    const HELLO = {
      ...{ id: "hello", type: "harness", at, harness: "chat@one", status: "hello", name: "chat" },
      capabilities: ["heartbeat"],
    };

    it.each([
      ["a tool call", [call("tool_use")]],
      ["a tool call of a sub-agent", [call("end_turn"), call("tool_use", { agent: "scout" })]],
      [
        "a tool call, and a late answer from before",
        [call("tool_use", { at }), call("end_turn", { at: at - 60_000 })],
      ],
      [
        "a tool call whose reason came with a second report",
        [call(undefined, { id: "a", at }), call("tool_use", { id: "a", at })],
      ],
      [
        "a tool call that telemetry reports without a reason",
        [
          call("tool_use", { at, witness: "transcript" }),
          call(undefined, { at: at + 2_000, witness: "otlp" }),
        ],
      ],
      [
        "a tool call after a session that waits",
        [call("end_turn", { session: "waits" }), chat("waits"), call("tool_use")],
      ],
      ["an answer, if it announced a heartbeat", [HELLO, call("end_turn")]],
    ])("fires after %s", async (_, events) => {
      await alerts.rule({ condition: { type: "harness_silence", longer_than: "10m" } });
      await alerts.pipeline.send(chat("s"), ...events);
      await evaluateAgain();
      await wait(11);
      await evaluateAgain();
      expect(await told()).toEqual([
        expect.stringMatching(/^firing: Nothing received since .*, and work is under way$/),
      ]);
    });

    it.each([
      ["an answer", [call("end_turn")]],
      [
        "a heartbeat without an open session",
        [HELLO, { ...chat("s"), id: "e", status: "ended", at: at + 300_000 }],
      ],
      ["a tool that a person must allow", [call("tool_approval")]],
      ["an answer that was cut off", [call("cut_off")]],
      ["calls of a source that gives no reason", [call(undefined), call(undefined)]],
      [
        "an answer, and a late tool call from before",
        [call("end_turn", { at }), call("tool_use", { at: at - 60_000 })],
      ],
      [
        "an answer, and the tool call before it again",
        [
          call("tool_use", { id: "a", at: at - 60_000 }),
          call("end_turn", { at }),
          call("tool_use", { id: "a", at: at - 60_000 }),
        ],
      ],
      [
        "a tool call, and a later call without a reason",
        [call("tool_use", { at: at - 60_000 }), call(undefined, { at })],
      ],
      [
        "reports of one call that disagree",
        [
          call("tool_use", { id: "a", at, witness: "otlp" }),
          call("end_turn", { id: "a", at, witness: "transcript" }),
        ],
      ],
      [
        "a tool call, and a context that a person cleared",
        [call("tool_use", { at }), { ...chat("s"), id: "c", type: "cleared", at: at + 5_000 }],
      ],
      [
        "a tool call of a session that ended",
        [call("tool_use", { at }), { ...chat("s"), id: "e", status: "ended", at: at + 300_000 }],
      ],
    ])("says nothing after %s", async (_, events) => {
      await alerts.rule({ condition: { type: "harness_silence", longer_than: "10m" } });
      for (const event of [chat("s"), ...events]) await alerts.pipeline.send(event);
      await evaluateAgain();
      await wait(11);
      await evaluateAgain();
      expect(await told()).toEqual([]);
    });
  });

  it("ends after a day, and is not told again", async () => {
    await alerts.rule({ condition: { type: "harness_silence", longer_than: "10m" } });
    await alerts.rule({ condition: { type: "tokens", at_least: 5 } });
    await alerts.pipeline.send(turn(10), loop("phantom@one", "s"));
    await evaluateAgain();
    await wait(11);
    await evaluateAgain();
    expect(await told()).toHaveLength(2);
    await wait(22 * 60);
    await evaluateAgain();
    expect((await told()).filter((text) => text.startsWith("resolved"))).toEqual([]);
    await wait(3 * 60);
    await evaluateAgain();
    await evaluateAgain();
    expect((await told()).filter((text) => text.startsWith("resolved"))).toEqual([
      "resolved: gone",
      "resolved: gone",
    ]);
  });
});

describe("rules about the project", () => {
  it("count the agents above a load", async () => {
    await alerts.rule({ condition: { type: "fleet", load_at_least: 0.9, share: 0.5 } });
    await alerts.rule({
      condition: { type: "fleet", load_at_least: 0.9, agents: 1 },
      scope: { harness: "other@*" },
    });
    await alerts.pipeline.send(turn(1_900), turn(100, { session: "two" }), turn(100, { session: "three" }));
    await evaluateAgain();
    expect(await told()).toEqual([]);
    await alerts.pipeline.send(turn(1_900, { session: "two" }));
    await evaluateAgain();
    expect(await told()).toEqual(["firing: 2 of 3 live agents at 90% of their line or more"]);
    await alerts.pipeline.send(turn(100));
    await evaluateAgain();
    expect((await told()).at(-1)).toBe("resolved: below");
  });

  it("see a backlog although nothing is projected", async () => {
    await alerts.rule({ condition: { type: "backlog", older_than: "1m" } });
    await alerts.pipeline.close();
    await run(`INSERT INTO journal (project_id, id, events, body, received_at)
      VALUES (1, gen_random_uuid(), 1, '', now() - interval '2 minutes')`);
    await evaluateAgain();
    expect(await told()).toEqual(["firing: Accepted events have waited for 2 min to be processed"]);
    await run("DELETE FROM journal");
    await evaluateAgain();
    expect((await told()).at(-1)).toBe("resolved: below");
  });

  it("count rejected events of the last hour, across processes", async () => {
    await alerts.rule({ condition: { type: "rejected_events", per_hour: 5 } });
    const rejected = (count: number) =>
      run(`INSERT INTO ingest_counts (project_id, day, outcome, count) VALUES (1, date_trunc('day', now()), 'invalid_field', ${count})
        ON CONFLICT (project_id, day, outcome) DO UPDATE SET count = EXCLUDED.count`);
    await rejected(100);
    await evaluateAgain();
    await rejected(105);
    await evaluateAgain();
    expect(await told()).toEqual([]);
    await rejected(106);
    await evaluateAgain();
    expect(await told()).toEqual(["firing: 6 events rejected within an hour"]);
  });
});

describe("rules about quotas", () => {
  const MINUTE = 60_000;
  /** Of a window of five hours that began two hours ago. */
  const reading = (used_percent: number, more: object = {}) => ({
    ...{ type: "quota", id: `q${++serial}`, at: Date.now(), harness: "claude-code@laptop", used_percent },
    ...{
      provider: "anthropic",
      limit: "five_hour",
      window_minutes: 300,
      resets_at: Date.now() + 180 * MINUTE,
    },
    ...more,
  });
  const week = { limit: "seven_day", window_minutes: 10_080, resets_at: Date.now() + 6 * 1_440 * MINUTE };

  it("about a share fire once for each quota, and end with its reset", async () => {
    await alerts.rule({ condition: { type: "quota_share", at_least: 0.9 } });
    await alerts.pipeline.send(reading(89.9), reading(20, week));
    await evaluateAgain();
    expect(await told()).toEqual([]);
    await alerts.pipeline.send(reading(90, { machine: "desk" }), reading(95), reading(96));
    await evaluateAgain();
    await evaluateAgain();
    const [first, ...others] = await alerts.sent();
    expect(others).toEqual([]);
    expect(first!.alerts.map(({ why }) => why).sort()).toEqual([
      expect.stringMatching(/^90% of the Anthropic 5-hour quota of desk is used, and .* It is reset at/),
      expect.stringMatching(/^96% of the Anthropic 5-hour quota of laptop is used, and .* It is reset at/),
    ]);
    await run("UPDATE quota_percents SET resets_at = now() - interval '1 minute'");
    await evaluateAgain();
    expect((await told()).slice(1)).toEqual(["resolved: below"]);
  });

  it("about a forecast fire before the quota ends, and while it is used up", async () => {
    await alerts.rule({ condition: { type: "quota_forecast", minutes_below: 40 } });
    // 120 minutes for 70 %: 51 minutes are left.
    await alerts.pipeline.send(reading(70));
    await evaluateAgain();
    expect(await told()).toEqual([]);
    // 31 minutes are left.
    await alerts.pipeline.send(reading(79));
    await evaluateAgain();
    expect(await told()).toEqual([
      expect.stringMatching(/^firing: 79% .* used up at .* at the present pace\./),
    ]);
    await alerts.pipeline.send(reading(100), reading(60, week));
    await evaluateAgain();
    expect(await told()).toHaveLength(1);
    await alerts.pipeline.send(reading(1, { resets_at: Date.now() + 300 * MINUTE }));
    await evaluateAgain();
    expect((await told()).at(-1)).toBe("resolved: below");
  });
});

describe("rules about caches", () => {
  const MINUTE = 60_000;
  /** Of an agent whose cache has all of its prompt. */
  const cached = (tokens: number, minutesAgo: number, more: object = {}) =>
    turn(0, {
      at: Date.now() - minutesAgo * MINUTE,
      usage: { input_tokens: 0, cache_read_tokens: tokens - 10, cache_write_tokens: 10, output_tokens: 1 },
      ...more,
    });

  it("fire once the cache of a high level is cold, and end with the next call", async () => {
    await alerts.rule({ condition: { type: "cache_cold", at_least: 5_000 } });
    await alerts.pipeline.send(cached(6_000, 5.1), cached(4_000, 5.1, { session: "low" }));
    await evaluateAgain();
    expect(await told()).toEqual([]);
    await wait(5.1);
    await evaluateAgain();
    await evaluateAgain();
    expect(await told()).toEqual(["firing: The cache is cold, with 6,000 context tokens"]);
    await alerts.pipeline.close();
    await alerts.ingest.sendOnce([cached(6_100, 0)]);
    await evaluateAgain();
    expect((await told()).slice(1)).toEqual(["resolved: data_returned"]);
  });

  it("wait for an hour, if the cache was written for one", async () => {
    await alerts.rule({ condition: { type: "cache_cold", at_least: 5_000 } });
    const usage = { input_tokens: 0, cache_read_tokens: 0, cache_write_tokens: 6_000, output_tokens: 1 };
    const written = { usage: { ...usage, cache_write_1h_tokens: 6_000 } };
    await alerts.pipeline.send(cached(0, 30, { ...written, session: "warm" }));
    await wait(30);
    await evaluateAgain();
    expect(await told()).toEqual([]);
    await alerts.pipeline.send(cached(0, 61, written));
    await wait(61);
    await evaluateAgain();
    expect(await told()).toEqual(["firing: The cache is cold, with 6,000 context tokens"]);
  });

  it("fire some minutes before, for each agent of their scope", async () => {
    await alerts.rule({
      condition: { type: "cache_cold", at_least: 5_000, minutes_before: 2 },
      scope: { agent: "main" },
    });
    await alerts.pipeline.send(cached(6_000, 3.5), cached(7_000, 3.5, { agent: "other" }));
    await wait(3.5);
    await evaluateAgain();
    expect(await told()).toEqual(["firing: The cache is cold in 2 min, with 6,000 context tokens"]);
    await run("DELETE FROM agents");
    await run("DELETE FROM sessions");
    await evaluateAgain();
    expect((await told()).slice(1)).toEqual(["resolved: subject_deleted"]);
  });

  it("say nothing of sessions that ended, of history, of clocks that are behind, and after a boundary", async () => {
    await alerts.rule({ condition: { type: "cache_cold", at_least: 5_000 } });
    const at = Date.now();
    await alerts.pipeline.send(
      cached(6_000, 6, { session: "ended" }),
      { id: "e", type: "session", at, harness: "phantom@one", session: "ended", status: "ended" },
      cached(6_000, 365 * 1_440, { session: "imported" }),
      cached(6_000, 30, { session: "behind", harness: "phantom@behind" }),
      cached(6_000, 6, { session: "compacted" }),
      {
        ...{ id: "c", type: "compacted", at: at - 5 * MINUTE, harness: "phantom@one", session: "compacted" },
        ...{ trigger: "auto", tokens_before: 6_000, tokens_after: 1_000 },
      },
    );
    await wait(6);
    await evaluateAgain();
    expect(await told()).toEqual([]);
  });
});

describe("rules about cost", () => {
  const call = (cost_usd: number, minutesAgo: number, more: object = {}) =>
    turn(10, { at: Date.now() - minutesAgo * 60_000, cost_usd, ...more });

  it("add up the latest hour or day, whenever the calls arrive", async () => {
    await alerts.rule({ condition: { type: "cost_rate", per: "hour", at_least_usd: 2 } });
    await alerts.rule({ condition: { type: "cost_rate", per: "day", at_least_usd: 10 } });
    await alerts.pipeline.send(call(1.5, 59), call(8, 61), call(100, 1_441));
    await evaluateAgain();
    expect(await told()).toEqual([]);
    await alerts.pipeline.send(call(0.5, 30));
    await evaluateAgain();
    expect((await told()).sort()).toEqual([
      "firing: Calls of the latest 24 hours cost $10.00",
      "firing: Calls of the latest hour cost $2.00",
    ]);
    // Whole buckets of every grain, and so far that no row takes the place of another.
    await run("UPDATE rollups SET bucket = bucket - interval '12 hours'");
    await evaluateAgain();
    expect((await told()).slice(2)).toEqual(["resolved: below"]);
  });

  it("count only the harnesses and models of their scope", async () => {
    const condition = { type: "cost_rate", per: "hour", at_least_usd: 3 } as const;
    await alerts.rule({ condition, scope: { harness: "phantom@*", model: "large" } });
    await alerts.pipeline.send(
      call(2, 1, { model: "large" }),
      call(5, 1, { model: "small" }),
      call(5, 1, { model: "large", harness: "other@one" }),
    );
    await evaluateAgain();
    expect(await told()).toEqual([]);
    await alerts.pipeline.send(call(1, 1, { model: "large", harness: "phantom@two", session: "two" }));
    await evaluateAgain();
    expect(await told()).toEqual(["firing: Calls of the latest hour cost $3.00"]);
  });

  it("estimate calls that report no cost, and say so", async () => {
    await alerts.rule({ condition: { type: "cost_rate", per: "hour", at_least_usd: 1 } });
    const usage = { input_tokens: 100_000, output_tokens: 10_000 };
    await alerts.pipeline.send(
      call(0.5, 1),
      turn(10, { at: Date.now(), model: "claude-opus-4-6", usage }),
      turn(10, { at: Date.now(), model: "a-model-of-mine", usage }),
    );
    await evaluateAgain();
    expect(await told()).toEqual([
      "firing: Calls of the latest hour cost $1.25, of which $0.7500 is estimated",
    ]);
  });

  it("refuse a scope by what calls are not counted by", async () => {
    const condition = { type: "cost_rate", per: "day", at_least_usd: 1 } as const;
    await expect(alerts.rule({ condition, scope: { agent: "main" } })).rejects.toThrow(/has no agent/);
  });
});

describe("rules about policies", () => {
  async function offer(): Promise<{ generation: number; hash: string }> {
    const { prisma } = alerts.ingest;
    const createdAt = new Date();
    const row = { projectId: 1, generation: 1, createdAt };
    const body = { settings: { thresholds: { ceiling: "30%" } }, layers: [] };
    await prisma.policyVersion.create({ data: { ...row, hash: "", body, reason: "a test", actor: "local" } });
    await prisma.policyStep.create({ data: { ...row, revision: 1, at: createdAt, share: 1, harnesses: [] } });
    await prisma.project.update({ where: { id: 1 }, data: { policyRevision: 1 } });
    const book = await PolicyBook.read(queriesOf(alerts.ingest), 1);
    return book.answerFor("phantom@one", undefined);
  }

  it("fire when a harness rejects a policy, and end when it applies it", async () => {
    await alerts.rule({ condition: { type: "policy", state: "rejected" } });
    const { generation, hash } = await offer();
    const ack = { type: "policy_ack", harness: "phantom@one", generation, hash, at: Date.now() - 1_000 };
    await alerts.pipeline.send({
      ...ack,
      id: "a",
      status: "rejected",
      code: "out_of_bounds",
      message: "too low",
    });
    await evaluateAgain();
    expect(await told()).toEqual(["firing: Policy 1 was rejected: too low"]);
    await alerts.pipeline.send({ ...ack, id: "b", status: "applied", at: Date.now() });
    await evaluateAgain();
    expect((await told()).at(-1)).toBe("resolved: below");
  });

  it("fire when a harness does not apply a policy in time", async () => {
    await alerts.rule({ condition: { type: "policy", state: "not_applied", within: "15m" } });
    await offer();
    const hello = { id: "h", type: "harness", status: "hello", name: "Phantom", capabilities: ["policy"] };
    await alerts.pipeline.send({ ...hello, at: Date.now() - 3_600_000, harness: "phantom@one" });
    await evaluateAgain();
    expect(await told()).toEqual([]);
    await run(
      "UPDATE policy_steps SET at = (at AT TIME ZONE 'UTC' - interval '15 minutes') AT TIME ZONE 'UTC' WHERE revision = 1",
    );
    await evaluateAgain();
    expect(await told()).toEqual(["firing: Policy 1 was not applied within 15m"]);
  });
});
