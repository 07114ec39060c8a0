import type { AlertFacts, AlertNotification } from "@plimsoll/protocol/alerts";

/** An alert with every fact that an alert can have. */
export const EXAMPLE_ALERT: AlertFacts = {
  id: "8a3f",
  rule: { id: "r1", name: "Ceiling crossed", severity: "critical" },
  condition: "threshold",
  subject: { harness: "phantom@vm-3", session: "fix the build", agent: "main", model: "claude-sonnet-4-5" },
  labels: { harness: "phantom@vm-3", family: "phantom", severity: "critical", team: "core" },
  started_at: "2026-11-23T14:02:00.000Z",
  fired_at: "2026-11-23T14:03:22.000Z",
  resolved_at: null,
  end_reason: null,
  acknowledged_by: null,
  why: "168,000 context tokens crossed the ceiling (160,000 tokens)",
  advice: "Compact or restart the agent.",
  level: { context_tokens: 168_000, window_tokens: 200_000, line: "ceiling", line_tokens: 160_000 },
  ended_by: null,
  boundaries: [
    { type: "compacted", at: "2026-11-23T13:21:00.000Z", tokens_before: 171_000, tokens_after: 12_400 },
    { type: "masked", at: "2026-11-23T13:08:00.000Z", tokens_before: 150_000, tokens_after: null },
    { type: "cleared", at: "2026-11-23T12:26:00.000Z", tokens_before: null, tokens_after: null },
  ],
  path: "/sessions/7?agent=3&turn=91",
};

export const EXAMPLE_NOTIFICATION: AlertNotification = {
  id: "n-1",
  kind: "firing",
  project: { id: 1, name: "default" },
  group: "r1/phantom%40vm-3",
  message: null,
  alerts: [EXAMPLE_ALERT],
  omitted: 0,
  at: "2026-11-23T14:03:23.000Z",
};

/** The example after 22 minutes and a half. */
export const RESOLVED_ALERT: AlertFacts = {
  ...EXAMPLE_ALERT,
  resolved_at: "2026-11-23T14:25:52.000Z",
  end_reason: "below",
};
