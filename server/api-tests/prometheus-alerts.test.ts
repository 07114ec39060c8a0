import { execFile } from "node:child_process";
import { readFile } from "node:fs/promises";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { ALERT_PRESETS, ALERT_SEVERITIES, AlertCondition } from "@plimsoll/protocol/alerts";
import type { PolicyAnswer, WholePolicy } from "@plimsoll/protocol/api";
import pg from "pg";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { parse } from "yaml";
import { projectRoot } from "../root.ts";
import { migratedDatabase } from "../testing/database.ts";
import { PROMETHEUS, PROMTOOL, type RunningPrometheus, startPrometheus } from "../testing/prometheus.ts";
import { startTestServer, type TestServer } from "../testing/server.ts";
import { until } from "../testing/until.ts";
import { makeKey, unique } from "./support.ts";

const run = promisify(execFile);
const RULES = `${projectRoot()}/docs/prometheus-alerts.yml`;
const HARNESS = "phantom@prometheus";

let database: Awaited<ReturnType<typeof migratedDatabase>>;
let client: pg.Client;
let servers: TestServer[] = [];
let prometheus: RunningPrometheus;

/** Two servers of one database, as behind a load balancer. */
async function start(): Promise<void> {
  database = await migratedDatabase();
  servers = [await startTestServer({ databaseUrl: database.url })];
  servers.push(await startTestServer({ databaseUrl: database.url }));
  client = new pg.Client({ connectionString: database.url });
  await client.connect();
  const { secret } = await makeKey(servers[0]!, "read");
  prometheus = await startPrometheus(
    servers.map(({ port }) => ({ port, key: secret })),
    RULES,
  );
}

const event = (type: string, more: object) => ({
  id: unique(type),
  type,
  at: Date.now(),
  harness: HARNESS,
  ...more,
});
const turn = (session: string, tokens: number, more: object = {}) =>
  event("turn", { session, model: "m", context_window: 10_000, usage: { input_tokens: tokens }, ...more });

const firing = async (name: string) =>
  (await prometheus.alerts()).filter(({ labels, state }) => labels.alertname === name && state === "firing");
const send = (...events: unknown[]) => servers[0]!.send(events);

/** A rule that looks back over failed scrapes can take a minute on a busy machine. */
const eventually = (what: () => Promise<boolean>) => until(what, 100_000);

/** Waits until both servers have been scraped with a value. */
const scraped = (expression: string) =>
  eventually(async () => (await prometheus.values(expression)).length === servers.length);

describe.skipIf(PROMETHEUS === undefined)("the rules for Prometheus, on a real server", () => {
  beforeAll(start);
  afterAll(async () => {
    await prometheus?.stop();
    await Promise.all(servers.map((server) => server.stop()));
    await client?.end();
    await database?.close();
  });

  it("find nothing wrong with an idle server", async () => {
    await scraped("plimsoll_live_agents");
    expect(await prometheus.ruleErrors()).toEqual([]);
    // Before the first scrape, the server counts as down.
    await eventually(async () => (await prometheus.alerts()).length === 0);
  });

  it("fire once for an agent past its line, and end", async () => {
    const session = unique("line");
    await send(turn(session, 9_000));
    await eventually(async () => (await firing("PlimsollPastLine")).length > 0);
    const [alert, ...others] = await firing("PlimsollPastLine");
    expect(others).toEqual([]);
    expect(alert).toMatchObject({
      labels: { harness: HARNESS, session, agent: "main", model: "m", severity: "critical" },
      annotations: { summary: `main of ${session} is past its line` },
    });
    await send(turn(session, 100));
    await eventually(
      async () =>
        (await prometheus.values(`plimsoll_agent_load_ratio{session="${session}"} >= 1`)).length === 0,
    );
  });

  it("fire for an agent with more tokens than its window", async () => {
    const session = unique("over");
    await send(turn(session, 12_000));
    await eventually(async () => (await firing("PlimsollOverWindow")).length === 1);
    const [alert] = await firing("PlimsollOverWindow");
    expect(alert!.annotations.description).toMatch(/^The context has 120% of the window's tokens\./);
  });

  it("fire for calls that cost too much, and for a quota that is nearly used up", async () => {
    const resets_at = Date.now() + 3_600_000;
    await scraped('plimsoll_cost_usd_total{basis="reported"}');
    await send(
      turn(unique("dear"), 100, { cost_usd: 60 }),
      event("quota", {
        provider: "anthropic",
        limit: "five_hour",
        window_minutes: 300,
        used_percent: 95,
        resets_at,
      }),
    );
    await eventually(async () => (await firing("PlimsollCostHigh")).length === 1);
    const [cost] = await firing("PlimsollCostHigh");
    expect(cost!.annotations.description).toMatch(/^Calls cost 60\.00 US dollars in 24 hours\./);
    await eventually(async () => (await firing("PlimsollQuotaUsed")).length === 1);
    const [quota] = await firing("PlimsollQuotaUsed");
    expect(quota!.annotations.description).toBe("95% of the quota is used.");
  });

  it("fire for an agent that is masked again and again", async () => {
    const session = unique("thrash");
    await send(turn(session, 1_000));
    await scraped(`plimsoll_agent_turns_total{session="${session}"} == 1`);
    for (let n = 0; n < 3; n++)
      await send(event("masked", { session, observations: 1 }), turn(session, 900 - n));
    await eventually(async () => (await firing("PlimsollThrash")).length === 1);
    expect((await firing("PlimsollThrash"))[0]!.labels).toMatchObject({ session, agent: "main" });
  });

  it("fire for a harness that stopped reporting", async () => {
    const session = unique("silent");
    const harness = "silent@vm-1";
    await send({ ...turn(session, 100), harness });
    await scraped(`plimsoll_harness_silence_seconds{harness="${harness}"}`);
    await client.query(
      "UPDATE harnesses SET last_received_at = now() - interval '11 min' WHERE instance = $1",
      [harness],
    );
    await client.query("UPDATE sessions SET last_received_at = now() - interval '11 min' WHERE name = $1", [
      session,
    ]);
    await eventually(async () => (await firing("PlimsollSilentHarness")).length === 1);
    const [alert] = await firing("PlimsollSilentHarness");
    expect(alert!.labels.harness).toBe(harness);
    expect(alert!.annotations.description).toMatch(/^The server has received nothing for 11m \d+/);
  });

  it("fire for a harness that rejects its policy", async () => {
    const { status } = await servers[0]!.request<WholePolicy>("/api/v1/policy", {
      method: "PUT",
      headers: { "content-type": "application/json", "if-match": '"0"' },
      body: JSON.stringify({ policy: { settings: { thresholds: { ceiling: "90%" } } }, reason: "a test" }),
    });
    expect(status).toBe(200);
    const harness = "strict@vm-1";
    const { body } = await servers[0]!.get<PolicyAnswer>(`/api/v1/policy?harness=${harness}`);
    const { generation, hash } = body;
    await send(event("policy_ack", { harness, generation, hash, status: "rejected", code: "out_of_bounds" }));
    await eventually(async () => (await firing("PlimsollPolicyRejected")).length === 1);
    expect((await firing("PlimsollPolicyRejected"))[0]!.labels.harness).toBe(harness);
  });

  it("fire when the server rejects many events at once", async () => {
    await send(...Array.from({ length: 101 }, (_, n) => ({ id: `bad-${n}`, type: "nonsense" })));
    await eventually(async () => (await firing("PlimsollRejectedEvents")).length === 1);
  });

  it("fire when notifications wait and endpoints are paused or not readable", async () => {
    const endpoint = async (kind: string, state: string | null, age: string) => {
      const { rows } = await client.query<{ id: string }>(
        `INSERT INTO alert_endpoints
         (project_id, id, name, kind, address, version, sealed, key_id, pause_reason, created_at, updated_at)
         VALUES (1, gen_random_uuid(), $1, $1, '', 1, '', 'another', $2, now(), now()) RETURNING id`,
        [kind, state],
      );
      await client.query(
        `INSERT INTO alert_deliveries
         (project_id, endpoint_id, id, group_key, kind, title, body, state, created_at, since, next_at)
         VALUES (1, $1, 'd', 'g', 'firing', '', '{}', 'waiting', now(), now() - $2::interval, now())`,
        [rows[0]!.id, age],
      );
    };
    await endpoint("slack", null, "6 min");
    await endpoint("webhook", null, "4 min");
    await endpoint("ntfy", "failing", "20 h");
    for (const [name, kinds] of [
      ["PlimsollDeliveriesWaiting", ["slack"]],
      ["PlimsollEndpointPaused", ["ntfy"]],
      ["PlimsollEndpointUnreadable", ["slack", "slack", "webhook", "webhook"]],
    ] as const) {
      await eventually(async () => (await firing(name)).length === kinds.length);
      expect((await firing(name)).map(({ labels }) => labels.kind).sort(), name).toEqual(kinds);
    }
  });

  it("say something sensible in every annotation", async () => {
    const texts = (await prometheus.alerts()).flatMap(({ annotations }) => Object.values(annotations));
    expect(texts.length).toBeGreaterThan(10);
    expect(texts.filter((text) => /<error|no value|%!|NaN|Inf| (of|to|kind) ?$/.test(text))).toEqual([]);
    expect(await prometheus.ruleErrors()).toEqual([]);
  });

  it("name only metrics that the server exports, with their labels", async () => {
    const rule = { name: "a rule", condition: { type: "window_suspect" } };
    await servers[0]!.mutate("alerts.rules.create", { rule });
    await scraped("plimsoll_alert_evaluation_age_seconds < 30");
    const { text } = await servers[0]!.get("/metrics");
    const labels = new Map<string, Set<string>>();
    for (const [, name, found = ""] of text.matchAll(/^([a-z_]+)(?:\{(.*)\})? \S+$/gm))
      labels.set(name!, new Set([...found.matchAll(/(\w+)="/g)].map(([, label]) => label!)));
    const used = await rulesUse(RULES);
    expect(used.size).toBeGreaterThan(15);
    for (const [name, of] of used) {
      expect(labels.has(name), name).toBe(true);
      for (const label of of) expect(labels.get(name)!.has(label), `${label} of ${name}`).toBe(true);
    }
  });

  it("go on when one of two servers is killed", async () => {
    const [, other] = servers;
    await other!.kill9();
    await eventually(async () =>
      (await prometheus.alerts()).some(({ labels }) => labels.alertname === "PlimsollDown"),
    );
    const down = (await prometheus.alerts()).filter(({ labels }) => labels.alertname === "PlimsollDown");
    expect(down).toMatchObject([{ state: "pending", labels: { instance: `127.0.0.1:${other!.port}` } }]);
    for (const name of ["PlimsollOverWindow", "PlimsollSilentHarness"])
      await eventually(async () => (await firing(name)).length === 1);
    const session = unique("after");
    await send(turn(session, 9_500));
    await eventually(async () =>
      (await firing("PlimsollPastLine")).some(({ labels }) => labels.session === session),
    );
  });
});

describe.skipIf(PROMTOOL === undefined)("the rules for Prometheus", () => {
  it.each([
    ["check", "rules", RULES],
    ["test", "rules", fileURLToPath(new URL("prometheus-alerts.yml", import.meta.url))],
  ])("pass promtool %s %s", async (...args) => {
    const { stdout } = await run(PROMTOOL!, args);
    expect(stdout).toContain("SUCCESS");
  });
});

describe("the file of rules", () => {
  const read = async () =>
    (parse(await readFile(RULES, "utf8")) as RuleFile).groups.flatMap(({ rules }) => rules);

  it("has each preset, with its severity and its condition", async () => {
    const rules = await read();
    for (const [preset, { condition, severity, ...rest }] of Object.entries(ALERT_PRESETS)) {
      const name = `Plimsoll${preset.replace(/(?:^|_)(\w)/g, (_, letter) => letter.toUpperCase())}`;
      const rule = rules.find(({ alert }) => alert === name);
      expect(rule?.labels, name).toEqual({ severity, condition: condition.type });
      expect(rule?.keep_firing_for, name).toBe("keep_firing_for" in rest ? rest.keep_firing_for : undefined);
    }
  });

  it("has a rule for each condition, or says why there is none", async () => {
    const has = new Set((await read()).map(({ labels }) => labels.condition));
    const header = (await readFile(RULES, "utf8")).split("groups:")[0]!;
    const types = AlertCondition.options.map((option) => option.shape.type.value);
    for (const type of types) expect(has.has(type) || header.includes(`#   ${type}: `), type).toBe(true);
    expect([...has].filter((type) => type !== undefined && !types.includes(type as never))).toEqual([]);
  });

  it("names each alert once, with a summary and a description", async () => {
    const rules = await read();
    expect(new Set(rules.map(({ alert }) => alert)).size).toBe(rules.length);
    for (const { alert, annotations, labels } of rules) {
      expect(Object.keys(annotations), alert).toEqual(["summary", "description"]);
      expect(ALERT_SEVERITIES, alert).toContain(labels.severity);
    }
  });
});

interface RuleFile {
  groups: {
    rules: {
      alert: string;
      expr: string;
      keep_firing_for?: string;
      labels: { severity: string; condition?: string };
      annotations: Record<string, string>;
    }[];
  }[];
}

/** The metrics of the server that expressions use, and the labels by which they select. */
async function rulesUse(path: string): Promise<Map<string, Set<string>>> {
  const { groups } = parse(await readFile(path, "utf8")) as RuleFile;
  const used = new Map<string, Set<string>>();
  for (const { expr } of groups.flatMap(({ rules }) => rules)) {
    for (const [, name, selector = ""] of expr.matchAll(/\b(plimsoll_\w+)(?:\{([^}]*)\})?/g)) {
      const labels = used.get(name!) ?? new Set<string>();
      for (const [, label] of selector.matchAll(/(\w+)\s*[=!]/g)) labels.add(label!);
      used.set(name!, labels);
    }
  }
  return used;
}
