import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type { AlertHealth, EndpointCondition } from "../../alerts/alert-health.ts";
import { type TestIngest, testIngest } from "../../testing/ingest.ts";
import { faultsOf } from "./alerts.ts";
import { examine } from "./examine.ts";

const endpoint = (changes: Partial<EndpointCondition> = {}): EndpointCondition => ({
  name: "ops",
  kind: "slack",
  state: "working",
  pauseReason: null,
  lastOutcome: "delivered",
  waiting: 0,
  longestWaitMs: 0,
  ...changes,
});
const health = (changes: Partial<AlertHealth> = {}): AlertHealth => ({
  endpoints: [endpoint()],
  rules: 1,
  evaluationAgeMs: 2_000,
  ...changes,
});
const ofEndpoint = (changes: Partial<EndpointCondition>) =>
  faultsOf(health({ endpoints: [endpoint(changes)] }));

describe("the faults of alerts", () => {
  it("are none while rules are evaluated and endpoints work", () => {
    expect(faultsOf(health())).toEqual([]);
    expect(faultsOf(health({ rules: 0, evaluationAgeMs: undefined, endpoints: [] }))).toEqual([]);
  });

  it("begin when rules were not evaluated for more than 30 s", () => {
    expect(faultsOf(health({ evaluationAgeMs: 30_000 }))).toEqual([]);
    expect(faultsOf(health({ evaluationAgeMs: 45_000 }))).toEqual([
      expect.stringMatching(/^The rules were last evaluated 45 s ago\. Run /),
    ]);
  });

  it("begin when a delivery waits for more than 5 minutes", () => {
    const waits = { state: "failing", lastOutcome: "timeout", waiting: 1 } as const;
    expect(ofEndpoint({ ...waits, longestWaitMs: 300_000 })).toEqual([]);
    expect(ofEndpoint({ ...waits, longestWaitMs: 360_000 })).toEqual([
      'Endpoint "ops" has a delivery that has waited for 6 min (last attempt: timeout). Look at its log on the Alerts page',
    ]);
  });

  it("name each endpoint that the server paused, and what to do", () => {
    expect(ofEndpoint({ state: "failing", lastOutcome: "refused" })[0]).toContain("nobody was told");
    expect(ofEndpoint({ state: "paused", pauseReason: "failing" })[0]).toContain("Repair its receiver");
    expect(ofEndpoint({ state: "paused", pauseReason: "gone" })[0]).toContain("with a new address");
    expect(ofEndpoint({ state: "unreadable" })[0]).toContain("PLIMSOLL_SECRET");
  });

  it("leave out what a person paused, whatever waits for it", () => {
    expect(ofEndpoint({ state: "paused", pauseReason: "person", waiting: 3, longestWaitMs: 9e9 })).toEqual(
      [],
    );
  });
});

describe("the doctor's check of alerts", () => {
  let path: TestIngest;
  beforeAll(async () => {
    path = await testIngest();
  });
  afterAll(() => path?.close());

  const run = (sql: string) => path.prisma.$executeRawUnsafe(sql);
  const check = async (keyId = "k1") => {
    const { databaseUrl } = path;
    const options = { databaseUrl, keyId, clock: () => performance.now(), budget: 20_000 };
    const { checks } = await examine({ projectId: 1 }, options);
    return checks.find(({ name }) => name.startsWith("alerts are"))!;
  };
  const addRule = (project: number, name: string, age: string) =>
    run(`INSERT INTO alert_rules
      (project_id, id, name, version, judged_version, enabled, body, actor, created_at, updated_at)
      VALUES (${project}, gen_random_uuid(), '${name}', 1, 1, true, '{}', 'local', now(), now() - interval '${age}')`);
  const lease = (age: string) =>
    run(`INSERT INTO alert_evaluators (project_id, holder, epoch, renewed_at)
      VALUES (1, gen_random_uuid(), 1, now() - interval '${age}')
      ON CONFLICT (project_id) DO UPDATE SET renewed_at = EXCLUDED.renewed_at`);

  it("passes without rules, whatever an evaluator left", async () => {
    await lease("3 days");
    expect(await check()).toMatchObject({ ok: true, message: "There are no alert rules." });
  });

  it("passes for a rule that was just made, and fails if nobody begins to evaluate it", async () => {
    await run("DELETE FROM alert_evaluators");
    await addRule(1, "one", "1 s");
    expect(await check()).toMatchObject({
      ok: true,
      message: "1 rule evaluated; 0 endpoints, and no late delivery.",
    });
    await run("UPDATE alert_rules SET updated_at = now() - interval '40 s'");
    expect((await check()).message).toMatch(/^The rules were last evaluated \d+ s ago\. .*log\.$/);
    await lease("1 s");
    expect((await check()).ok).toBe(true);
    await lease("40 s");
    expect((await check()).ok).toBe(false);
    await lease("1 s");
  });

  it("fails if an evaluator leaves what the projector wrote unread", async () => {
    const id = (Date.now() - 600_000).toString(16).padStart(12, "0");
    await run(
      `INSERT INTO alert_signals (project_id, id, sessions) VALUES (1, '${id}70008000000000000000', '{}')`,
    );
    expect((await check()).message).toMatch(/^The rules were last evaluated 10 min ago/);
    await run("DELETE FROM alert_signals");
    expect((await check()).ok).toBe(true);
  });

  it("tells endpoints and deliveries of the project from those of others", async () => {
    await run("INSERT INTO projects (id, name, created_at) VALUES (2, 'other', now())");
    await addRule(2, "two", "1 day");
    const add = async (project: number, name: string, pause: string | null, wait: string) => {
      await run(`INSERT INTO alert_endpoints
        (project_id, id, name, kind, address, version, sealed, key_id, pause_reason, created_at, updated_at)
        VALUES (${project}, gen_random_uuid(), '${name}', 'slack', '', 1, '', 'k1', ${pause === null ? "NULL" : `'${pause}'`}, now(), now())`);
      await run(`INSERT INTO alert_deliveries
        (project_id, endpoint_id, id, group_key, kind, title, body, state, created_at, since, next_at)
        SELECT project_id, id, 'd', 'g', 'firing', '', '{}', 'waiting', now(), now() - interval '${wait}', now()
        FROM alert_endpoints WHERE project_id = ${project} AND name = '${name}'`);
    };
    await add(2, "late", null, "1 h");
    await add(1, "early", null, "4 min");
    await add(1, "off", "person", "1 h");
    expect(await check()).toMatchObject({
      ok: true,
      message: "1 rule evaluated; 2 endpoints, 1 of them paused by a person, and no late delivery.",
    });
    await add(1, "slow", null, "1 h");
    await add(1, "dead", "failing", "1 h");
    const { ok, message } = await check();
    expect(ok).toBe(false);
    expect(message).toMatch(
      /^Endpoint "dead" is paused, .*\. Endpoint "slow" has a delivery that has waited for 60 min\. .*page\.$/,
    );
    expect((await check("another key")).message).toContain('Endpoint "early" cannot be read');
    await run(`INSERT INTO alert_endpoints
      (project_id, id, name, kind, address, version, sealed, key_id, pause_reason, created_at, updated_at)
      SELECT 1, gen_random_uuid(), 'many-' || n, 'slack', '', 1, '', 'k1', 'gone', now(), now() FROM generate_series(1, 5) n`);
    expect((await check()).message).toMatch(/ And 2 more endpoints\.$/);
  });
});
