import type { FleetAgent, FleetStatus, FleetTotals, FleetView } from "@plimsoll/protocol/api";

export const NOW = Date.UTC(2026, 10, 20, 12, 0, 0);
const time = (before: number) => new Date(NOW - before).toISOString();

/** An agent as the server returns it; a test overrides the fields it checks. */
export function fleetAgent(given: Partial<FleetAgent> = {}): FleetAgent {
  return {
    id: "0199aaaa-0000-7000-8000-000000000001",
    session_id: "0199aaaa-0000-7000-8000-000000000002",
    name: "main",
    parent: null,
    model: "claude-opus-5",
    context_tokens: 192_000,
    window_tokens: 1_000_000,
    window_source: "reported",
    utilization: 0.192,
    window_suspect: false,
    uncounted_turns: 0,
    cache: null,
    after_boundary: null,
    peak: { tokens: 211_000, window_tokens: 1_000_000, utilization: 0.211, at: time(3_600_000) },
    thresholds: [
      { name: "warning", label: "15%", tokens: 150_000, source: "policy" },
      { name: "ceiling", label: "20%", tokens: 200_000, source: "policy" },
    ],
    policy_generation: 1,
    line: { threshold: "ceiling", tokens: 200_000, kind: "ceiling", source: "policy" },
    harness_line: null,
    load: 0.96,
    forecast: { reason: "rising", turns: 4, growth: 2_000, minutes: 6, end_turns: null, end_minutes: null },
    turns: 31,
    windows: 2,
    first_at: time(7_200_000),
    last_at: time(18_000),
    session: "loop:7c1e",
    title: "refactor billing webhooks",
    kind: "loop",
    harness: "phantom@vm-3",
    machine: null,
    repository: null,
    branch: null,
    person: null,
    place: "tick 4.2",
    active_at: time(18_000),
    recent: { levels: [188_000, 190_000, 192_000], falls: [] },
    last_fall: null,
    ...given,
  };
}

export function totals(given: Partial<FleetTotals> = {}): FleetTotals {
  return {
    peak_utilization: 0.214,
    peak_tokens: 214_000,
    sessions: 61,
    sessions_past_warning: 5,
    subticks: 14,
    masked: 212,
    masked_tokens: 3_000_000,
    compacted: 2,
    restarts: 3,
    cleared: 0,
    unexplained: 1,
    reclaimed_tokens: 4_100_000,
    turns: 1_204,
    ...given,
  };
}

export function fleetStatus(given: Partial<FleetStatus> = {}): FleetStatus {
  return {
    generated_at: time(0),
    range: { from: time(86_400_000), to: time(0) },
    behind: null,
    has_events: true,
    live: { agents: 2, sessions: 2, harnesses: 1 },
    utilization_now: { highest: 0.192, median: 0.1, agent: null },
    utilization_before: { highest: 0.15, median: 0.09 },
    suspects: { count: 0, sessions: [] },
    highest_load: {
      load: 0.96,
      session_id: "0199aaaa-0000-7000-8000-000000000002",
      title: "refactor billing webhooks",
      agent: "main",
    },
    current: {
      session_id: "0199aaaa-0000-7000-8000-000000000002",
      title: "refactor billing webhooks",
      agent: "main",
      context_tokens: 121_400,
      window_tokens: 1_000_000,
      utilization: 0.1214,
    },
    totals: totals(),
    previous: totals({ peak_utilization: 0.183, subticks: 20, restarts: 2 }),
    thresholds: { warning: "15%", ceiling: "20%", soft: "70%", hard: "90%", reserve: null },
    threshold_origin: "policy",
    threshold_steps: [],
    ...given,
  };
}

export function fleetView(agents: FleetAgent[] = [fleetAgent()]): FleetView {
  return { generated_at: time(0), agents, more: 0 };
}
