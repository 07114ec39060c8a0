import { Counter, Gauge, Registry } from "prom-client";
import { AGENTS_SHOWN, type FleetGauges } from "../telemetry/gauges.ts";
import type { Instruments } from "./instruments.ts";

export type GaugeSource = (projectId: number) => Promise<FleetGauges>;

const AGENT_LABELS = ["harness", "session", "agent", "model"] as const;

/**
 * The Prometheus exposition: the process, then one project's agents. Without `gauges` (the database is
 * away) the process alone, and `plimsoll_read_model_up 0`.
 */
export async function renderMetrics(
  instruments: Instruments,
  gauges: FleetGauges | undefined,
): Promise<{ contentType: string; body: string }> {
  const fleet = fleetRegistry(gauges);
  const body = `${await instruments.registry.metrics()}\n${await fleet.metrics()}`;
  return { contentType: instruments.registry.contentType, body };
}

/** Made anew for each scrape, so that an agent that is gone leaves no series behind. */
function fleetRegistry(gauges: FleetGauges | undefined): Registry {
  const registry = new Registry();
  const registers = [registry];
  const up = new Gauge({
    name: "plimsoll_read_model_up",
    help: "Whether the figures about agents could be read.",
    registers,
  });
  up.set(gauges ? 1 : 0);
  if (!gauges) return registry;

  const agentGauge = (name: string, help: string) =>
    new Gauge({ name, help, labelNames: AGENT_LABELS, registers });
  const context = agentGauge("plimsoll_agent_context_tokens", "Prompt side of the agent's latest turn.");
  const window = agentGauge("plimsoll_agent_window_tokens", "Size of its context window, where known.");
  const utilization = agentGauge("plimsoll_agent_utilization_ratio", "Context tokens over window tokens.");
  const load = agentGauge("plimsoll_agent_load_ratio", "Context tokens over the tokens at its line.");

  const byLoad = [...gauges.agents].sort((a, b) => (b.load ?? -1) - (a.load ?? -1));
  for (const agent of byLoad.slice(0, AGENTS_SHOWN)) {
    const labels = {
      harness: agent.harness,
      session: agent.session,
      agent: agent.agent,
      model: agent.model,
    };
    if (agent.contextTokens !== null) context.set(labels, agent.contextTokens);
    if (agent.windowTokens !== null) window.set(labels, agent.windowTokens);
    if (agent.contextTokens !== null && agent.windowTokens) {
      utilization.set(labels, agent.contextTokens / agent.windowTokens);
    }
    if (agent.load !== null) load.set(labels, agent.load);
  }

  const live = new Gauge({
    name: "plimsoll_live_agents",
    help: `Live agents. The ${AGENTS_SHOWN} with the highest load have gauges of their own.`,
    registers,
  });
  live.set(gauges.live);
  const boundaries = new Counter({
    name: "plimsoll_boundaries_total",
    help: "Boundaries of context windows, by type.",
    labelNames: ["type"],
    registers,
  });
  for (const { type, count } of gauges.boundaries) boundaries.inc({ type }, count);
  const pastWarning = new Gauge({
    name: "plimsoll_sessions_past_warning",
    help: "Distinct sessions that crossed their warning threshold upwards.",
    registers,
  });
  pastWarning.set(gauges.sessionsPastWarning);
  return registry;
}
