import parsePrometheusTextFormat, { type Family } from "parse-prometheus-text-format";
import { describe, expect, it } from "vitest";
import { AGENTS_SHOWN, type AgentGauges, type FleetGauges } from "../read/gauges.ts";
import { EMPTY_GAUGES } from "../testing/gauges.ts";
import { startHttpStack } from "../testing/http-stack.ts";
import { createInstruments } from "./instruments.ts";
import { type ProjectGauges, renderMetrics } from "./metrics.ts";

const agent = (changes: Partial<AgentGauges> = {}): AgentGauges => ({
  harness: "phantom@vm-3",
  session: 'thread "7"\nline\\two',
  agent: "main",
  model: "claude-sonnet-4-5",
  contextTokens: 150_000,
  windowTokens: 200_000,
  load: 0.9,
  turns: 40,
  boundaries: { masked: 3, compacted: 1, subtick: 0, restarted: 0, cleared: 0, unexplained: 0 },
  sessionSilentMs: 2_500,
  ...changes,
});
const project = (changes: Partial<FleetGauges> = {}, more: Partial<ProjectGauges> = {}): ProjectGauges => ({
  ...EMPTY_GAUGES,
  fleet: fleet(changes),
  ...more,
});
const fleet = (changes: Partial<FleetGauges>): FleetGauges => ({
  ...EMPTY_GAUGES.fleet,
  agents: [agent()],
  live: 1,
  boundaries: [
    { type: "subtick", count: 4 },
    { type: "masked", count: 11 },
  ],
  sessionsPastWarning: 2,
  ...changes,
});

async function scrape(gauges: ProjectGauges | undefined, instruments = createInstruments()) {
  const { body } = await renderMetrics(instruments, gauges);
  const families = new Map<string, Family>();
  for (const family of parsePrometheusTextFormat(body)) {
    expect(families.has(family.name)).toBe(false);
    families.set(family.name, family);
  }
  return families;
}

describe("the metrics", () => {
  it("show what turns cost, and how much of each quota is used", async () => {
    const quota = {
      ...{ provider: "anthropic", limit: "five_hour", window_minutes: 300, used_percent: 42 },
      ...{ resets_at: "2026-11-27T12:00:00Z", read_at: "2026-11-27T10:00:00Z" },
      owner: { kind: "machine", id: "laptop" },
      forecast: { reason: "not_before_reset", ends_at: null },
    } as const;
    const cost = { reported: 1.25, estimated: 0.75, unpricedTurns: 3 };
    const families = await scrape(project({ cost, quotas: [quota, { ...quota, window_minutes: null }] }));
    const only = (name: string) => families.get(name)?.metrics;
    expect(only("plimsoll_cost_usd_total")).toEqual([
      { value: "1.25", labels: { basis: "reported" } },
      { value: "0.75", labels: { basis: "estimated" } },
    ]);
    expect(only("plimsoll_unpriced_turns_total")).toEqual([{ value: "3" }]);
    const labels = { provider: "anthropic", limit: "five_hour", owner_kind: "machine", owner: "laptop" };
    expect(only("plimsoll_quota_used_ratio")).toEqual([
      { value: "0.42", labels: { ...labels, window_minutes: "300" } },
      { value: "0.42", labels: { ...labels, window_minutes: "" } },
    ]);
  });

  it("show each live agent with its labels as they are", async () => {
    const families = await scrape(project());
    const labels = {
      harness: "phantom@vm-3",
      session: 'thread "7"\nline\\two',
      agent: "main",
      model: "claude-sonnet-4-5",
    };
    const only = (name: string) => families.get(name)?.metrics;
    expect(only("plimsoll_agent_context_tokens")).toEqual([{ value: "150000", labels }]);
    expect(only("plimsoll_agent_window_tokens")).toEqual([{ value: "200000", labels }]);
    expect(only("plimsoll_agent_utilization_ratio")).toEqual([{ value: "0.75", labels }]);
    expect(only("plimsoll_agent_load_ratio")).toEqual([{ value: "0.9", labels }]);
    expect(families.get("plimsoll_boundaries_total")).toMatchObject({
      type: "COUNTER",
      metrics: [
        { value: "4", labels: { type: "subtick" } },
        { value: "11", labels: { type: "masked" } },
      ],
    });
    expect(only("plimsoll_sessions_past_warning")).toEqual([{ value: "2" }]);
    expect(only("plimsoll_live_agents")).toEqual([{ value: "1" }]);
    expect(only("plimsoll_read_model_up")).toEqual([{ value: "1" }]);
  });

  it("count the turns and boundaries of each agent, zeros as well", async () => {
    const families = await scrape(project());
    expect(families.get("plimsoll_agent_turns_total")).toMatchObject({
      type: "COUNTER",
      metrics: [{ value: "40", labels: { agent: "main" } }],
    });
    const boundaries = families.get("plimsoll_agent_boundaries_total")!.metrics;
    expect(boundaries.map(({ value, labels }) => [labels!.type, value])).toEqual([
      ["masked", "3"],
      ["compacted", "1"],
      ["subtick", "0"],
      ["restarted", "0"],
      ["cleared", "0"],
      ["unexplained", "0"],
    ]);
  });

  it("say in seconds how long sessions and harnesses are silent, once for each", async () => {
    const agents = [agent(), agent({ agent: "scout" }), agent({ session: "other", sessionSilentMs: 0 })];
    const harnesses = [{ harness: "phantom@vm-3", silentMs: 660_000 }];
    const backlog = { events: 7, ageMs: 1_500 };
    const families = await scrape(project({ agents, harnesses, backlog }));
    const values = (name: string) => families.get(name)!.metrics.map(({ value }) => value);
    expect(values("plimsoll_session_silence_seconds")).toEqual(["2.5", "0"]);
    expect(values("plimsoll_harness_silence_seconds")).toEqual(["660"]);
    expect(values("plimsoll_backlog_age_seconds")).toEqual(["1.5"]);
    expect(values("plimsoll_backlog_events")).toEqual(["7"]);
  });

  it("tell how alerts are evaluated and delivered", async () => {
    const endpoint = { name: "ops", pauseReason: null, lastOutcome: null, waiting: 0, longestWaitMs: 0 };
    const endpoints = [
      { ...endpoint, kind: "slack", state: "working" },
      { ...endpoint, kind: "slack", state: "failing", waiting: 3, longestWaitMs: 90_000 },
      { ...endpoint, kind: "slack", state: "paused", waiting: 2, longestWaitMs: 9e9 },
    ] as const;
    const open = [
      { state: "firing", severity: "critical", count: 2 },
      { state: "pending", severity: null, count: 1 },
    ] as const;
    const alerts = { endpoints: [...endpoints], rules: 1, evaluationAgeMs: 2_000, open };
    const families = await scrape(project({}, { alerts, policies: [{ harness: "h@1", state: "rejected" }] }));
    const shown = (name: string) =>
      families
        .get(name)!
        .metrics.map(({ value, labels }) => [...Object.values(labels ?? {}), value].join(" "));
    expect(shown("plimsoll_alerts_open").filter((line) => !line.endsWith(" 0"))).toEqual([
      "firing critical 2",
    ]);
    expect(shown("plimsoll_alerts_open")).toHaveLength(9);
    expect(shown("plimsoll_alert_evaluation_age_seconds")).toEqual(["2"]);
    expect(shown("plimsoll_alert_endpoints")).toEqual([
      "slack working 1",
      "slack failing 1",
      "slack paused 1",
      "slack unreadable 0",
    ]);
    expect(shown("plimsoll_alert_deliveries_waiting")).toEqual(["slack 5"]);
    expect(shown("plimsoll_alert_delivery_wait_seconds")).toEqual(["slack 90"]);
    expect(shown("plimsoll_harness_policy_state")).toEqual(["h@1 rejected 1"]);
    const without = await scrape(project());
    expect(without.has("plimsoll_alert_evaluation_age_seconds")).toBe(false);
  });

  it("leave out what is unknown instead of calling it zero", async () => {
    const families = await scrape(project({ agents: [agent({ windowTokens: null, load: null })] }));
    expect(families.get("plimsoll_agent_context_tokens")?.metrics).toHaveLength(1);
    for (const name of ["window_tokens", "utilization_ratio", "load_ratio"]) {
      expect(families.get(`plimsoll_agent_${name}`)?.metrics ?? []).toHaveLength(0);
    }
  });

  it("show the 500 agents nearest to their line", async () => {
    const agents = Array.from({ length: 700 }, (_, i) => agent({ agent: `a${i}`, load: i / 1000 }));
    const families = await scrape(project({ agents: [...agents, agent({ agent: "unknown", load: null })] }));
    const shown = families.get("plimsoll_agent_context_tokens")!.metrics.map(({ labels }) => labels!.agent);
    expect(shown).toHaveLength(AGENTS_SHOWN);
    expect(shown).toContain("a699");
    expect(shown).toContain("a200");
    expect(shown).not.toContain("a199");
    expect(shown).not.toContain("unknown");
  });

  it("show the process even while the read model is away", async () => {
    const families = await scrape(undefined);
    expect(families.get("plimsoll_read_model_up")?.metrics).toEqual([{ value: "0" }]);
    expect(families.has("plimsoll_boundaries_total")).toBe(false);
    expect(families.has("process_resident_memory_bytes")).toBe(true);
    expect(families.has("nodejs_eventloop_lag_seconds")).toBe(true);
  });

  it("count what the server does", async () => {
    const instruments = createInstruments();
    instruments.events("accepted", 498);
    instruments.events("accepted", 2);
    instruments.events("invalid_field", 1);
    instruments.commit(500, 0.004);
    let waiting = 500;
    let full = [2, 3];
    instruments.watch({ depth: () => waiting, fullProjects: () => full, bodyBytes: () => 700 });
    waiting = 12;
    expect((await scrape(project(), instruments)).get("plimsoll_ingest_queue_full")?.metrics).toEqual([
      { value: "1", labels: { project_id: "2" } },
      { value: "1", labels: { project_id: "3" } },
    ]);
    full = [3];
    instruments.liveClients(3);
    instruments.request("events", 200, 0.003);
    instruments.request("events", 200, 0.2);
    const families = await scrape(project(), instruments);
    expect(families.get("plimsoll_ingest_events_total")?.metrics).toEqual([
      { value: "500", labels: { outcome: "accepted" } },
      { value: "1", labels: { outcome: "invalid_field" } },
    ]);
    expect(families.get("plimsoll_ingest_queue_events")?.metrics).toEqual([{ value: "12" }]);
    expect(families.get("plimsoll_ingest_queue_full")?.metrics).toEqual([
      { value: "1", labels: { project_id: "3" } },
    ]);
    expect(families.get("plimsoll_live_clients")?.metrics).toEqual([{ value: "3" }]);
    expect(families.get("plimsoll_ingest_commit_events")?.metrics[0]).toMatchObject({
      count: "1",
      sum: "500",
      buckets: { "100": "0", "500": "1" },
    });
    expect(families.get("plimsoll_ingest_commit_duration_seconds")?.metrics[0]).toMatchObject({ count: "1" });
    expect(families.get("plimsoll_http_request_duration_seconds")?.metrics[0]).toMatchObject({
      buckets: { "0.0025": "0", "0.005": "1", "0.25": "2" },
    });
    // The parser drops the labels of a histogram.
    const { body } = await renderMetrics(instruments, undefined);
    expect(body).toContain('plimsoll_http_request_duration_seconds_count{route="events",status="200"} 2');
  });
});

describe("/metrics", () => {
  it("needs the scope read, and has counted the requests before", async () => {
    const server = await startHttpStack({ gauges: async () => project() });
    try {
      expect((await server.send("/metrics")).status).toBe(401);
      const { authorization } = await server.key("read");
      const { status, text, headers } = await server.send("/metrics", { headers: { authorization } });
      expect(status).toBe(200);
      expect(headers["content-type"]).toBe("text/plain; version=0.0.4; charset=utf-8");
      const names = parsePrometheusTextFormat(text).map(({ name }) => name);
      expect(names).toContain("plimsoll_agent_load_ratio");
      expect(text).toContain('plimsoll_http_request_duration_seconds_count{route="metrics",status="401"} 1');
    } finally {
      await server.stop();
    }
  });

  it("answers when the read model fails", async () => {
    const server = await startHttpStack({ gauges: () => Promise.reject(new Error("no database")) });
    try {
      const { authorization } = await server.key("read");
      const { status, text } = await server.send("/metrics", { headers: { authorization } });
      expect(status).toBe(200);
      expect(text).toContain("plimsoll_read_model_up 0");
    } finally {
      await server.stop();
    }
  });
});
