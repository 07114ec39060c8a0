import { ALERT_SEVERITIES } from "@plimsoll/protocol/alerts";
import { ContestedWork } from "@plimsoll/protocol/api";
import { BOUNDARY_TYPES } from "@plimsoll/protocol/events";
import { Counter, Gauge, Registry } from "prom-client";
import { type AlertHealth, ENDPOINT_STATES, type OpenAlertCount } from "../alerts/alert-health.ts";
import type { HarnessPolicyState } from "../policies/read-policy-states.ts";
import { AGENTS_SHOWN, type AgentGauges, type FleetGauges } from "../read/gauges.ts";
import type { Instruments } from "./instruments.ts";

/** What a scraper of `/metrics` gets of a project. */
export interface ProjectGauges {
  fleet: FleetGauges;
  policies: readonly HarnessPolicyState[];
  alerts: AlertHealth & { open: readonly OpenAlertCount[] };
}

export type GaugeSource = (projectId: number) => Promise<ProjectGauges>;

const AGENT_LABELS = ["harness", "session", "agent", "model"] as const;
/** Phases of an alert that is open. */
const OPEN_STATES = ["pending", "firing", "no_data"] as const;

/**
 * The Prometheus exposition: the process, then one project. Without `gauges` (the database is away) the process alone, and
 * `plimsoll_read_model_up 0`.
 */
export async function renderMetrics(
  instruments: Instruments,
  gauges: ProjectGauges | undefined,
): Promise<{ contentType: string; body: string }> {
  const project = projectRegistry(gauges);
  const body = `${await instruments.registry.metrics()}\n${await project.metrics()}`;
  return { contentType: instruments.registry.contentType, body };
}

/** Made anew for each scrape, so that an agent that is gone leaves no series behind. */
function projectRegistry(gauges: ProjectGauges | undefined): Registry {
  const registry = new Registry();
  const make = makerOf(registry);
  make
    .gauge("plimsoll_read_model_up", "Whether the figures of the project could be read.")
    .set(gauges ? 1 : 0);
  if (!gauges) return registry;
  const { fleet, policies, alerts } = gauges;
  addAgents(make, fleet.agents);
  addFleet(make, fleet);
  addMoney(make, fleet);
  addHarnesses(make, fleet, policies);
  addAlerts(make, alerts);
  return registry;
}

type Maker = ReturnType<typeof makerOf>;

const makerOf = (registry: Registry) => ({
  gauge: <Label extends string>(name: string, help: string, labelNames: readonly Label[] = []) =>
    new Gauge({ name, help, labelNames, registers: [registry] }),
  counter: <Label extends string>(name: string, help: string, labelNames: readonly Label[] = []) =>
    new Counter({ name, help, labelNames, registers: [registry] }),
});

function addAgents(make: Maker, agents: readonly AgentGauges[]): void {
  const gauge = (name: string, help: string) => make.gauge(name, help, AGENT_LABELS);
  const context = gauge("plimsoll_agent_context_tokens", "Prompt side of the agent's latest turn.");
  const window = gauge("plimsoll_agent_window_tokens", "Size of its context window, where known.");
  const utilization = gauge("plimsoll_agent_utilization_ratio", "Context tokens over window tokens.");
  const load = gauge("plimsoll_agent_load_ratio", "Context tokens over the tokens at its line.");
  const turns = make.counter("plimsoll_agent_turns_total", "Turns of the agent.", AGENT_LABELS);
  const boundaries = make.counter("plimsoll_agent_boundaries_total", "Boundaries of the agent, by type.", [
    ...AGENT_LABELS,
    "type",
  ]);
  const silence = make.gauge(
    "plimsoll_session_silence_seconds",
    "Time since the server received an event of a session with live agents.",
    ["harness", "session"],
  );

  const byLoad = [...agents].sort((a, b) => (b.load ?? -1) - (a.load ?? -1));
  for (const shown of byLoad.slice(0, AGENTS_SHOWN)) {
    const { harness, session, agent, model, contextTokens, windowTokens } = shown;
    const labels = { harness, session, agent, model };
    if (contextTokens !== null) context.set(labels, contextTokens);
    if (windowTokens !== null) window.set(labels, windowTokens);
    if (contextTokens !== null && windowTokens) utilization.set(labels, contextTokens / windowTokens);
    if (shown.load !== null) load.set(labels, shown.load);
    turns.inc(labels, shown.turns);
    // Zeros as well: a change from nothing to 1 is no increase to Prometheus.
    for (const type of BOUNDARY_TYPES) boundaries.inc({ ...labels, type }, shown.boundaries[type]);
    silence.set({ harness, session }, shown.sessionSilentMs / 1_000);
  }
}

function addFleet(make: Maker, fleet: FleetGauges): void {
  const { live, atLoad, boundaries, sessionsPastWarning, rejected, backlog, contested } = fleet;
  make
    .gauge(
      "plimsoll_live_agents",
      `Live agents. The ${AGENTS_SHOWN} with the highest load have gauges of their own.`,
    )
    .set(live);
  const near = make.gauge("plimsoll_live_agents_at_load", "Live agents with at least this load ratio.", [
    "at_least",
  ]);
  for (const { atLeast, count } of atLoad) near.set({ at_least: atLeast }, count);
  const byType = make.counter("plimsoll_boundaries_total", "Boundaries of context windows, by type.", [
    "type",
  ]);
  for (const { type, count } of boundaries) byType.inc({ type }, count);
  make
    .gauge(
      "plimsoll_sessions_past_warning",
      "Distinct sessions that crossed their warning threshold upwards.",
    )
    .set(sessionsPastWarning);
  make
    .counter("plimsoll_rejected_events_total", "Events of the project that the server rejected.")
    .inc(rejected);
  make
    .gauge("plimsoll_backlog_events", "Accepted events of the project that wait to be processed.")
    .set(backlog.events);
  make.gauge("plimsoll_backlog_age_seconds", "Age of the oldest of them.").set(backlog.ageMs / 1_000);
  const taken = make.gauge(
    "plimsoll_contested_work",
    "1 for work that servers have taken from each other in the last 5 minutes.",
    ["work"],
  );
  for (const work of ContestedWork.options) taken.set({ work }, Number(contested.includes(work)));
}

function addMoney(make: Maker, { cost, quotas }: FleetGauges): void {
  const spent = make.counter(
    "plimsoll_cost_usd_total",
    "What turns cost: as harnesses reported it, and estimated at list prices for the other turns.",
    ["basis"],
  );
  spent.inc({ basis: "reported" }, cost.reported);
  spent.inc({ basis: "estimated" }, cost.estimated);
  make
    .counter("plimsoll_unpriced_turns_total", "Turns that state no cost and have no list price.")
    .inc(cost.unpricedTurns);
  const used = make.gauge("plimsoll_quota_used_ratio", "Used part of a limit of an account.", [
    "provider",
    "limit",
    "window_minutes",
    "owner_kind",
    "owner",
  ]);
  for (const { provider, limit, window_minutes, owner, used_percent } of quotas)
    used.set(
      {
        ...{ provider, limit, window_minutes: window_minutes ?? "" },
        ...{ owner_kind: owner.kind, owner: owner.id },
      },
      used_percent / 100,
    );
}

function addHarnesses(make: Maker, fleet: FleetGauges, policies: readonly HarnessPolicyState[]): void {
  const silence = make.gauge(
    "plimsoll_harness_silence_seconds",
    "Time since the server received anything of a harness with an open session.",
    ["harness"],
  );
  for (const { harness, silentMs } of fleet.harnesses) silence.set({ harness }, silentMs / 1_000);
  const policy = make.gauge("plimsoll_harness_policy_state", "1 for the state of a harness that is online.", [
    "harness",
    "state",
  ]);
  for (const { harness, state } of policies) policy.set({ harness, state }, 1);
}

function addAlerts(make: Maker, { open, endpoints, evaluationAgeMs }: ProjectGauges["alerts"]): void {
  const alerts = make.gauge("plimsoll_alerts_open", "Alerts that have not ended.", ["state", "severity"]);
  for (const state of OPEN_STATES)
    for (const severity of ALERT_SEVERITIES) alerts.set({ state, severity }, 0);
  for (const { state, severity, count } of open)
    if (severity !== null) alerts.set({ state, severity }, count);
  if (evaluationAgeMs !== undefined)
    make
      .gauge("plimsoll_alert_evaluation_age_seconds", "Time since alert rules were last evaluated.")
      .set(evaluationAgeMs / 1_000);

  const byState = make.gauge("plimsoll_alert_endpoints", "Endpoints of alerts, by kind and state.", [
    "kind",
    "state",
  ]);
  const waiting = make.gauge(
    "plimsoll_alert_deliveries_waiting",
    "Notifications that wait to be delivered.",
    ["kind"],
  );
  const longest = make.gauge(
    "plimsoll_alert_delivery_wait_seconds",
    "How long the oldest of them has waited, at endpoints that are not paused.",
    ["kind"],
  );
  for (const kind of new Set(endpoints.map((endpoint) => endpoint.kind))) {
    const ofKind = endpoints.filter((endpoint) => endpoint.kind === kind);
    for (const state of ENDPOINT_STATES)
      byState.set({ kind, state }, ofKind.filter((endpoint) => endpoint.state === state).length);
    waiting.set(
      { kind },
      ofKind.reduce((sum, endpoint) => sum + endpoint.waiting, 0),
    );
    const waits = ofKind.filter(({ state }) => state !== "paused").map(({ longestWaitMs }) => longestWaitMs);
    longest.set({ kind }, Math.max(0, ...waits) / 1_000);
  }
}
