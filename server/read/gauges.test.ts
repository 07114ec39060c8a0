import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { countOpenAlerts } from "../alerts/alert-health.ts";
import { queriesOf } from "../db/sql.ts";
import { PolicyBook } from "../lines/policy-book.ts";
import type { FreshReader } from "../lines/reader.ts";
import { readPolicyStates } from "../policies/read-policy-states.ts";
import { type TestIngest, type TestPipeline, testIngest } from "../testing/ingest.ts";
import { readGauges } from "./gauges.ts";

let path: TestIngest;
let server: TestPipeline;

beforeAll(async () => {
  path = await testIngest();
  server = await path.start();
});
afterAll(async () => {
  await server?.close();
  await path?.close();
});

const run = (sql: string) => path.prisma.$executeRawUnsafe(sql);
const reader = (projectId = 1): FreshReader => ({
  prisma: path.prisma,
  projectId,
  policy: PolicyBook.empty,
  now: Date.now(),
  lag: { events: 0, ms: 0 },
});

let serial = 0;
const event = (harness: string, type: string, more: object) => {
  serial += 1;
  return { id: `e${serial}`, at: Date.now() - 1_000 + serial, harness, type, ...more };
};
const turn = (harness: string, session: string, tokens: number) =>
  event(harness, "turn", { session, model: "m", context_window: 10_000, usage: { input_tokens: tokens } });
const silent = async () => (await readGauges(reader())).harnesses.map(({ harness }) => harness);
/** Moves what is known of a harness into the past. */
async function age(harness: string, by: string): Promise<void> {
  await run(
    `UPDATE harnesses SET last_received_at = (last_received_at AT TIME ZONE 'UTC' - interval '${by}') AT TIME ZONE 'UTC' WHERE instance = '${harness}'`,
  );
  await run(`UPDATE sessions SET last_received_at = (last_received_at AT TIME ZONE 'UTC' - interval '${by}') AT TIME ZONE 'UTC',
    open_slot = open_slot - (extract(epoch FROM interval '${by}') / 300)::int4
    WHERE harness = '${harness}' AND open_slot > 0`);
}

describe("the gauges", () => {
  it("are zeros in an empty project", async () => {
    expect(await readGauges(reader())).toMatchObject({ agents: [], live: 0, harnesses: [], rejected: 0 });
    expect(await readPolicyStates(reader())).toEqual([]);
    expect(await countOpenAlerts(queriesOf(reader()), 1)).toEqual([]);
  });

  it("count turns and boundaries of an agent, and agents by their load", async () => {
    await server.send(turn("a@1", "s", 3_000), turn("a@1", "s", 3_100));
    await server.send(event("a@1", "masked", { session: "s", observations: 1 }), turn("a@1", "s", 1_000));
    const { agents, live, atLoad } = await readGauges(reader());
    expect(live).toBe(1);
    expect(agents).toMatchObject([
      { harness: "a@1", session: "s", turns: 3, boundaries: { masked: 1, compacted: 0, unexplained: 0 } },
    ]);
    const { load } = agents[0]!;
    expect(atLoad).toHaveLength(5);
    for (const { atLeast, count } of atLoad) expect(count, `${atLeast}`).toBe(load! >= atLeast ? 1 : 0);
    await run("UPDATE agents SET load = 0.9");
    const after = (await readGauges(reader())).atLoad;
    expect(after.map(({ count }) => count)).toEqual([1, 1, 1, 1, 0]);
  });

  it("leave out harnesses that have nothing to report", async () => {
    await server.send(turn("ended@1", "s1", 100), turn("left@1", "s2", 100), turn("open@1", "s3", 100));
    await server.send(event("ended@1", "session", { session: "s1", status: "ended", reason: "done" }));
    await server.send(event("left@1", "harness", { status: "bye", name: "left" }));
    expect((await silent()).sort()).toEqual(["a@1", "open@1"]);
  });

  it("keep a silent harness for 6 hours, the most silent first", async () => {
    await age("open@1", "5 hours");
    expect(await silent()).toEqual(["open@1", "a@1"]);
    await age("open@1", "61 min");
    expect(await silent()).toEqual(["a@1"]);
  });

  it("never show a negative time, also if the database's clock was set back", async () => {
    await age("a@1", "-10 min");
    const { agents, harnesses } = await readGauges(reader());
    expect(agents.map(({ sessionSilentMs }) => sessionSilentMs)).toContain(0);
    expect(harnesses).toEqual([{ harness: "a@1", silentMs: 0 }]);
  });

  it("tell how far each harness is that is online", async () => {
    await server.send(
      event("managed@1", "harness", { status: "hello", name: "managed", capabilities: ["policy"] }),
    );
    await server.send(
      event("managed@1", "policy_ack", { generation: 0, hash: "0".repeat(64), status: "rejected" }),
    );
    const states = await readPolicyStates(reader());
    expect(states).toContainEqual({ harness: "managed@1", state: "rejected" });
    expect(states.map(({ harness }) => harness)).not.toContain("left@1");
    expect(states.map(({ harness }) => harness)).not.toContain("open@1");
  });

  it("count rejected events whatever the reason, and not repeats", async () => {
    await run(`INSERT INTO ingest_counts (project_id, day, outcome, count) VALUES
      (1, date_trunc('day', now()), 'invalid_field', 7), (1, date_trunc('day', now()) - interval '1 day', 'too_large', 5),
      (1, date_trunc('day', now()), 'duplicate', 1000)`);
    expect((await readGauges(reader())).rejected).toBe(12);
  });

  it("show open alerts by state and severity, pending ones by their rule", async () => {
    await run(`INSERT INTO alert_rules
      (project_id, id, name, version, judged_version, enabled, body, actor, created_at, updated_at) VALUES
      (1, '00000000-0000-7000-8000-00000000000a', 'r', 1, 1, true, '{"severity": "info"}', 'local', now(), now())`);
    const alert = (subject: string, phase: string, facts: string, resolved: string) =>
      run(`INSERT INTO alerts
        (project_id, id, rule_id, judged_version, subject, phase, place, labels, group_key, started_at, pending_at, facts, resolved_at)
        VALUES (1, gen_random_uuid(), '00000000-0000-7000-8000-00000000000a', 1, '${subject}', '${phase}', '{}', '{}', 'g', now(), now(), ${facts}, ${resolved})`);
    await alert("a", "pending", "NULL", "NULL");
    await alert("b", "firing", `'{"severity": "critical"}'`, "NULL");
    await alert("c", "firing", `'{"severity": "critical"}'`, "NULL");
    await alert("d", "resolved", `'{"severity": "critical"}'`, "now()");
    const open = await countOpenAlerts(queriesOf(reader()), 1);
    expect(open.sort((one, other) => one.count - other.count)).toEqual([
      { state: "pending", severity: "info", count: 1 },
      { state: "firing", severity: "critical", count: 2 },
    ]);
  });

  it("are those of one project", async () => {
    await run("INSERT INTO projects (id, name, created_at) VALUES (2, 'other', now())");
    expect(await readGauges(reader(2))).toMatchObject({ agents: [], live: 0, harnesses: [], rejected: 0 });
    expect(await readPolicyStates(reader(2))).toEqual([]);
    expect(await countOpenAlerts(queriesOf(reader(2)), 2)).toEqual([]);
  });
});
