import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { queriesOf } from "../../db/sql.ts";
import { type TestAlerts, testAlerts } from "../../testing/alerts.ts";
import { OpenAlerts } from "./open-alerts.ts";

let alerts: TestAlerts;
beforeEach(async () => {
  alerts = await testAlerts();
});
afterEach(() => alerts.close());

let serial = 0;
/** A turn in a window of 10,000 tokens, whose ceiling is at 2,000. */
function turn(tokens: number, more: object = {}) {
  serial += 1;
  return {
    id: `t${serial}`,
    type: "turn",
    at: Date.now() - 100_000 + serial,
    harness: "phantom@one",
    session: "s",
    model: "m",
    context_window: 10_000,
    usage: { input_tokens: tokens },
    ...more,
  };
}

const summary = async () =>
  (await alerts.sent()).map(({ kind, alerts: listed }) =>
    [kind, ...listed.map(({ end_reason }) => end_reason ?? "open")].join(" "),
  );

describe("an evaluator", () => {
  it("fires when a level crosses its line, and resolves when it falls below", async () => {
    await alerts.rule({
      condition: { type: "threshold", threshold: "ceiling" },
      message: "Evaluation at it",
    });
    const evaluator = alerts.evaluator();
    await evaluator.evaluate();
    await alerts.pipeline.send(turn(1_000), turn(2_500));
    await evaluator.evaluate();
    await evaluator.evaluate();
    const [first] = await alerts.sent();
    expect(first).toMatchObject({
      kind: "firing",
      message: "Evaluation at it",
      project: { id: 1, name: "default" },
      alerts: [
        {
          condition: "threshold",
          subject: { harness: "phantom@one", session: "s", agent: "main", model: "m" },
          labels: { family: "phantom", severity: "warning", rule: "rule 1" },
          why: "2,500 context tokens crossed the ceiling (2,000 tokens)",
          level: { context_tokens: 2_500, window_tokens: 10_000, line: "ceiling", line_tokens: 2_000 },
          resolved_at: null,
        },
      ],
    });
    expect(first!.alerts[0]!.path).toMatch(/^\/sessions\/[0-9a-f-]+\?agent=[0-9a-f-]+&turn=/);
    // Within the hysteresis.
    await alerts.pipeline.send(turn(1_950));
    await evaluator.evaluate();
    expect(await summary()).toEqual(["firing open"]);
    await alerts.pipeline.send(turn(1_000));
    await evaluator.evaluate();
    expect(await summary()).toEqual(["firing open", "resolved below"]);
    await evaluator.evaluate();
    expect(await summary()).toHaveLength(2);
  });

  it("goes on where another process was killed, without a second notification", async () => {
    await alerts.rule({ condition: { type: "tokens", at_least: 2_000 } });
    const [first, waiting, second] = [alerts.evaluator(), alerts.evaluator(), alerts.evaluator()];
    await alerts.pipeline.send(turn(2_500));
    await first.evaluate();
    // While the first holds the lease, another does nothing.
    expect(await waiting.evaluate()).toBeUndefined();
    expect(waiting.holding).toBe(false);
    await expire();
    await second.evaluate();
    expect(second.holding).toBe(true);
    await alerts.pipeline.send(turn(100));
    // The first was only paused. Its transaction fails, and it forgets.
    await expect(first.evaluate()).rejects.toThrow("another process evaluates");
    await second.evaluate();
    expect(await summary()).toEqual(["firing open", "resolved below"]);
  });

  it("never fires about the past", async () => {
    await alerts.rule({ condition: { type: "tokens", at_least: 2_000 } });
    await alerts.rule({ condition: { type: "unexplained_fall" } });
    const evaluator = alerts.evaluator();
    await evaluator.evaluate();
    const lastYear = Date.now() - 365 * 86_400_000;
    const history = [9_000, 100, 9_000].map((tokens, n) =>
      turn(tokens, { at: lastYear + n, session: "old" }),
    );
    await alerts.pipeline.send(...history);
    await evaluator.evaluate();
    expect(await summary()).toEqual([]);
    // A late turn of a live agent moves no alert either, and neither do repeats.
    const now = turn(1_990);
    await alerts.pipeline.send(now, turn(2_100, { at: Date.now() - 3_600_000 }));
    await alerts.pipeline.send(now);
    await evaluator.evaluate();
    expect(await summary()).toEqual([]);
  });

  it("ends the alert of a window that is over, and of a session that ended, with the reason", async () => {
    await alerts.rule({ condition: { type: "tokens", at_least: 2_000 } });
    const evaluator = alerts.evaluator();
    await alerts.pipeline.send(turn(2_500));
    await evaluator.evaluate();
    const at = Date.now() - 50_000;
    const restarted = { number: 1, previous_turns: 1, carryover_turns: 0, reason: "full" };
    const base = { harness: "phantom@one", session: "s" };
    await alerts.pipeline.send(
      { ...base, ...restarted, id: "r", type: "restarted", at },
      turn(3_000, { at: at + 1 }),
    );
    await evaluator.evaluate();
    expect(await summary()).toEqual(["firing open", "firing open window_ended"]);
    await alerts.pipeline.send({ ...base, id: "e", type: "session", at: at + 2, status: "ended" });
    await evaluator.evaluate();
    expect((await summary()).at(-1)).toBe("resolved session_ended");
  });

  it("waits for the time of the rule, also across processes", async () => {
    await alerts.rule({ condition: { type: "tokens", at_least: 2_000 }, for: "10m" });
    const first = alerts.evaluator();
    await alerts.pipeline.send(turn(2_500));
    await first.evaluate();
    expect(await summary()).toEqual([]);
    await first.close();
    await alerts.ingest.prisma
      .$executeRaw`UPDATE alerts SET pending_at = (pending_at AT TIME ZONE 'UTC' - interval '10 minutes') AT TIME ZONE 'UTC'`;
    await alerts.evaluator().evaluate();
    expect(await summary()).toEqual(["firing open"]);
  });

  it("forgets an alert whose condition ends before the time of the rule", async () => {
    await alerts.rule({ condition: { type: "tokens", at_least: 2_000 }, for: "10m" });
    const evaluator = alerts.evaluator();
    await alerts.pipeline.send(turn(2_500));
    await evaluator.evaluate();
    expect(await alerts.ingest.prisma.alert.findMany()).toMatchObject([{ phase: "pending" }]);
    await alerts.pipeline.send(turn(100));
    await evaluator.evaluate();
    expect(await alerts.ingest.prisma.alert.count()).toBe(0);
    expect(await summary()).toEqual([]);
  });

  it("takes silence for missing data, and never tells an end", async () => {
    await alerts.rule({ condition: { type: "tokens", at_least: 2_000 } });
    const evaluator = alerts.evaluator();
    await alerts.pipeline.send(turn(2_500));
    await evaluator.evaluate();
    await evaluator.close();
    await alerts.ingest.prisma.$executeRaw`UPDATE agents SET last_received_at = now() - interval '1 day'`;
    await alerts.evaluator().evaluate();
    expect(await alerts.ingest.prisma.alert.findMany()).toMatchObject([
      { phase: "no_data", resolvedAt: null },
    ]);
    expect(await summary()).toEqual(["firing open"]);
  });

  it("ends the alerts of a rule that was changed, switched off or deleted, and then rests", async () => {
    const condition = { type: "tokens", at_least: 2_000 } as const;
    const one = await alerts.rule({ condition });
    const two = await alerts.rule({ condition });
    const three = await alerts.rule({ condition });
    const evaluator = alerts.evaluator();
    await alerts.pipeline.send(turn(2_500));
    await evaluator.evaluate();
    const actor = { kind: "local" } as const;
    await alerts.rules.save(
      1,
      { id: one.id, expected: 1, rule: { ...one.rule, message: "Only the text" } },
      actor,
    );
    await alerts.rules.switch(1, { id: two.id, expected: 1, enabled: false }, actor);
    await alerts.rules.remove(1, three.id, actor);
    await evaluator.evaluate();
    expect((await summary()).slice(3).sort()).toEqual(["resolved rule_changed", "resolved rule_deleted"]);
    await alerts.rules.save(
      1,
      { id: one.id, expected: 2, rule: { ...one.rule, condition: { ...condition, at_least: 9_000 } } },
      actor,
    );
    await evaluator.evaluate();
    expect((await summary()).at(-1)).toBe("resolved rule_changed");
    await alerts.rules.remove(1, one.id, actor);
    await evaluator.evaluate();
    expect(evaluator.holding).toBe(false);
    expect(await alerts.ingest.prisma.project.findMany()).toMatchObject([{ alerting: false }]);
    // Without rules, the projector leaves nothing.
    await alerts.pipeline.send(turn(2_600));
    expect(await alerts.ingest.prisma.alertSignal.count()).toBe(0);
  });

  it("leaves an alert untold while a silence matches, and tells it when the silence ends", async () => {
    await alerts.rule({ condition: { type: "tokens", at_least: 2_000 } });
    const matchers = [{ label: "harness", is: "phantom@*" }];
    const endsAt = new Date(Date.now() + 3_600_000);
    const actor = { kind: "local" } as const;
    const silence = await alerts.silences.create(
      1,
      { matchers, comment: "a test", startsAt: undefined, endsAt },
      actor,
    );
    const evaluator = alerts.evaluator();
    await alerts.pipeline.send(turn(2_500));
    await evaluator.evaluate();
    expect(await summary()).toEqual([]);
    await alerts.silences.end(1, silence.id, actor);
    await evaluator.evaluate();
    expect(await summary()).toEqual(["firing open"]);
  });

  it("tells an acknowledgement once, with the name of the person", async () => {
    await alerts.rule({ condition: { type: "tokens", at_least: 2_000 } });
    const evaluator = alerts.evaluator();
    await alerts.pipeline.send(turn(2_500));
    await evaluator.evaluate();
    const [firing] = await alerts.sent();
    const ids = firing!.alerts.map(({ id }) => id);
    const actor = { kind: "key", id: "k", name: "on call" } as const;
    expect(await alerts.silences.acknowledge(1, ids, actor)).toEqual({ acknowledged: 1 });
    expect(await alerts.silences.acknowledge(1, ids, actor)).toEqual({ acknowledged: 0 });
    await evaluator.evaluate();
    await evaluator.evaluate();
    const [, acknowledged, ...others] = await alerts.sent();
    expect(acknowledged).toMatchObject({ kind: "acknowledged", alerts: [{ acknowledged_by: "on call" }] });
    expect(others).toEqual([]);
  });

  it("does not tell a warning about an agent that is past its ceiling", async () => {
    await alerts.rule({ condition: { type: "tokens", at_least: 1_000 }, severity: "warning" });
    await alerts.rule({ condition: { type: "tokens", at_least: 2_000 }, severity: "critical" });
    const evaluator = alerts.evaluator();
    await alerts.pipeline.send(turn(2_500));
    await evaluator.evaluate();
    expect((await alerts.sent()).map(({ alerts: [one] }) => one!.rule.severity)).toEqual(["critical"]);
    await alerts.pipeline.send(turn(1_500));
    await evaluator.evaluate();
    expect((await alerts.sent()).map(({ kind, alerts: [one] }) => `${kind} ${one!.rule.severity}`)).toEqual([
      "firing critical",
      "resolved critical",
      "firing warning",
    ]);
  });

  it("counts boundaries and turns, and names the last three boundaries", async () => {
    await alerts.rule({ condition: { type: "thrash", boundaries: 3, within_turns: 4 } });
    const evaluator = alerts.evaluator();
    await evaluator.evaluate();
    const start = Date.now() - 60_000;
    const compacted = (n: number) => ({
      id: `c${n}`,
      type: "compacted",
      at: start + n * 10 + 5,
      harness: "phantom@one",
      session: "s",
      trigger: "auto",
      tokens_before: 1_500,
      tokens_after: 500,
    });
    const events = [0, 1, 2].flatMap((n) => [turn(1_500, { at: start + n * 10 }), compacted(n)]);
    await alerts.pipeline.send(...events.slice(0, 4));
    await evaluator.evaluate();
    expect(await summary()).toEqual([]);
    await alerts.pipeline.send(...events.slice(4));
    await evaluator.evaluate();
    const [sent] = await alerts.sent();
    expect(sent!.alerts[0]).toMatchObject({
      why: "3 boundaries within 4 turns",
      boundaries: [{ type: "compacted", tokens_before: 1_500, tokens_after: 500 }, {}, {}],
    });
  });

  it("compares the cache reads of the latest turns of a window, in their order, across cuts of the history", async () => {
    await alerts.rule({ condition: { type: "cache_read_share", below: 0.5, turns: 2 } });
    const evaluator = alerts.evaluator();
    const start = Date.now() - 600_000;
    const read = (n: number, cached: number | undefined, more: object = {}) =>
      turn(0, {
        at: start + n * 1_000,
        usage: { input_tokens: 1_000, cache_read_tokens: cached, basis: "inclusive" },
        ...more,
      });
    // Two low turns, of which the first begins the window; then a call of another purpose, and one that is late.
    await alerts.pipeline.send(read(0, 0), read(2, 100), read(3, 0, { purpose: "compaction" }));
    await evaluator.evaluate();
    await alerts.pipeline.send(read(1, 900));
    await evaluator.evaluate();
    expect(await summary()).toEqual([]);
    // The history is cut before the latest turns.
    await alerts.pipeline.send(...Array.from({ length: 252 }, (_, n) => read(4 + n, 900)));
    await alerts.pipeline.send(read(300, 100), read(301, 0));
    await evaluator.evaluate();
    expect((await alerts.sent()).map(({ alerts: [one] }) => one!.why)).toEqual([
      "0% of the context was read from the cache, below 50% for 2 turns",
    ]);
    await alerts.pipeline.send(read(302, undefined));
    await evaluator.evaluate();
    expect((await alerts.sent()).at(-1)).toMatchObject({
      kind: "resolved",
      alerts: [{ end_reason: "below" }],
    });
  });

  it("adds up the caches that were lost within some turns, without those that a pause cost", async () => {
    await alerts.rule({ condition: { type: "cache_lost", at_least: 30_000, turns: 3 } });
    const evaluator = alerts.evaluator();
    const start = Date.now() - 800_000;
    const cached = (second: number, read: number, written: number) =>
      turn(0, {
        at: start + second * 1_000,
        usage: { input_tokens: 10, cache_read_tokens: read, cache_write_tokens: written, basis: "exclusive" },
      });
    // Ten minutes later, the cache is gone. Then the first message differs, twice.
    await alerts.pipeline.send(cached(0, 0, 20_000), cached(600, 0, 20_500), cached(610, 0, 21_000));
    await evaluator.evaluate();
    expect(await summary()).toEqual([]);
    await alerts.pipeline.send(cached(620, 0, 21_500));
    await evaluator.evaluate();
    expect((await alerts.sent()).map(({ alerts: [one] }) => one!.why)).toEqual([
      "41,500 tokens were cached again within 3 turns, without a fall or a pause",
    ]);
    await alerts.pipeline.send(cached(630, 21_500, 500), cached(640, 22_000, 500));
    await evaluator.evaluate();
    expect((await alerts.sent()).at(-1)).toMatchObject({
      kind: "resolved",
      alerts: [{ end_reason: "below" }],
    });
  });

  it("sees a part of many open alerts again with each tick, and all of them in turn", async () => {
    await alerts.rule({ condition: { type: "tokens", at_least: 2_000 } });
    const evaluator = alerts.evaluator();
    await evaluator.evaluate();
    const many = Array.from({ length: 120 }, (_, n) =>
      turn(3_000, { session: `s${n}`, harness: `coder@${n}` }),
    );
    await alerts.pipeline.send(...many);
    await evaluator.evaluate();
    expect(await alerts.sent()).toHaveLength(120);
    const open = await OpenAlerts.read(queriesOf(alerts.ingest), 1);
    const ticks = [1, 2, 3].map(() => open.sessionsToSeeAgain());
    expect(ticks.map(({ length }) => length)).toEqual([50, 50, 50]);
    expect(new Set(ticks.flat()).size).toBe(120);
  });

  it("loses and repeats nothing, whenever it fails", async () => {
    await alerts.rule({ condition: { type: "tokens", at_least: 2_000 } });
    let seed = 7;
    const random = () => {
      seed = (seed * 1_664_525 + 1_013_904_223) % 4_294_967_296;
      return seed / 4_294_967_296;
    };
    let above = false;
    let changes = 0;
    for (let round = 0; round < 60; round++) {
      const evaluator = alerts.evaluator();
      if (random() < 0.5) {
        const wasAbove = above;
        above = random() < 0.5;
        changes += above === wasAbove ? 0 : 1;
        await alerts.pipeline.send(turn(above ? 2_500 : 100));
      }
      // Some statement of the evaluation fails, before or after it has written.
      alerts.failAfter(random() < 0.6 ? Math.floor(random() * 16) : undefined);
      await evaluator.evaluate().catch(() => {});
      alerts.failAfter(undefined);
      await expire();
      // What fails changes nothing; what does not fail has seen the last level.
      const saw = await alerts.evaluator().evaluate();
      expect(saw).toBeDefined();
      await expire();
      const kinds = (await alerts.sent()).map(({ kind }) => kind);
      expect(kinds).toEqual(Array.from({ length: changes }, (_, n) => (n % 2 === 0 ? "firing" : "resolved")));
    }
    expect(changes).toBeGreaterThan(8);
  });

  it("forgets alerts and silences of long ago", async () => {
    await alerts.rule({ condition: { type: "tokens", at_least: 2_000 } });
    const evaluator = alerts.evaluator();
    await alerts.pipeline.send(turn(2_500));
    await evaluator.evaluate();
    await alerts.pipeline.send(turn(100));
    await evaluator.evaluate();
    await alerts.pipeline.send(turn(2_500));
    await evaluator.evaluate();
    await alerts.ingest.prisma.$executeRaw`
      UPDATE alerts SET fired_at = (fired_at AT TIME ZONE 'UTC' - interval '91 days') AT TIME ZONE 'UTC', resolved_at = (resolved_at AT TIME ZONE 'UTC' - interval '91 days') AT TIME ZONE 'UTC'`;
    await expire();
    await alerts.evaluator().evaluate();
    expect(await alerts.ingest.prisma.alert.findMany()).toMatchObject([
      { phase: "firing", resolvedAt: null },
    ]);
  });

  /** Makes the lease look as if its holder had been killed. */
  async function expire() {
    await alerts.ingest.prisma.$executeRaw`UPDATE alert_evaluators SET holder = NULL`;
  }
});
