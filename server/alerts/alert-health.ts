import type { AlertEndpointKind, AlertPhase, AlertSeverity } from "@plimsoll/protocol/alerts";
import type { AttemptOutcome, PauseReason } from "@plimsoll/protocol/api";
import type { Sql } from "../db/sql.ts";

/** Whether alerts of an endpoint leave. `unreadable`: its secrets were encrypted with another key. */
export const ENDPOINT_STATES = ["working", "failing", "paused", "unreadable"] as const;
export type EndpointState = (typeof ENDPOINT_STATES)[number];

/** An endpoint and the deliveries that wait for it. Durations in ms. */
export interface EndpointCondition {
  name: string;
  kind: AlertEndpointKind;
  state: EndpointState;
  pauseReason: PauseReason | null;
  lastOutcome: AttemptOutcome | null;
  waiting: number;
  /** Of the delivery that waits longest; 0 if none waits. */
  longestWaitMs: number;
}

export interface AlertHealth {
  /** By name. */
  endpoints: EndpointCondition[];
  /** Rules that are switched on. */
  rules: number;
  /** Time since the rules were last evaluated, ms; undefined without rules. */
  evaluationAgeMs: number | undefined;
}

const ms = (time: string) => `(extract(epoch FROM ${time}) * 1000)::float8`;
const ENDPOINTS = `
SELECT e.name, e.kind, e.key_id AS "keyId", e.pause_reason AS "pauseReason", e.last_outcome AS "lastOutcome",
  e.failing_since IS NOT NULL AS failing, w.waiting, w."longestWaitMs"
FROM alert_endpoints e CROSS JOIN LATERAL (
  SELECT count(*)::int4 AS waiting, COALESCE(GREATEST(0, max(${ms("clock_timestamp() - d.since")})), 0) AS "longestWaitMs"
  FROM alert_deliveries d WHERE d.project_id = $1 AND d.endpoint_id = e.id AND d.state = 'waiting') w
WHERE e.project_id = $1 ORDER BY e.name`;
const EVALUATION = `
SELECT r.rules, r."changedAt", ${ms("clock_timestamp()")} AS now,
  (SELECT ${ms("e.renewed_at")} FROM alert_evaluators e WHERE e.project_id = $1) AS "renewedAt",
  (SELECT g.id FROM alert_signals g WHERE g.project_id = $1 ORDER BY g.id LIMIT 1) AS signal
FROM (SELECT count(*)::int4 AS rules, ${ms("min(a.updated_at)")} AS "changedAt"
  FROM alert_rules a WHERE a.project_id = $1 AND a.enabled) r`;
const OPEN = `
SELECT t.phase AS state, COALESCE(t.facts ->> 'severity', r.body ->> 'severity') AS severity, count(*)::int4 AS count
FROM alerts t LEFT JOIN alert_rules r ON r.project_id = $1 AND r.id = t.rule_id
WHERE t.project_id = $1 AND t.resolved_at IS NULL GROUP BY 1, 2`;

type EndpointFacts = Omit<EndpointCondition, "state"> & { keyId: string; failing: boolean };

interface EvaluationFacts {
  rules: number;
  /** When the first of the rules was last changed. All times in epoch ms, by the database's clock. */
  changedAt: number | null;
  now: number;
  /** When the evaluator last renewed its lease. */
  renewedAt: number | null;
  /** Id of the oldest signal that no evaluator has read. */
  signal: string | null;
}

/**
 * How the evaluation and delivery of a project's alerts are doing.
 * @param keyId of the key with which this server encrypts secrets
 */
export async function readAlertHealth(
  sql: Pick<Sql, "query">,
  projectId: number,
  keyId: string,
): Promise<AlertHealth> {
  const [endpoints, [facts]] = await Promise.all([
    sql.query<EndpointFacts>(ENDPOINTS, projectId),
    sql.query<EvaluationFacts>(EVALUATION, projectId),
  ]);
  return {
    endpoints: endpoints.map(({ keyId: of, failing, ...endpoint }) => ({
      ...endpoint,
      state: stateOf({ isReadable: of === keyId, isPaused: endpoint.pauseReason !== null, failing }),
    })),
    rules: facts!.rules,
    evaluationAgeMs: evaluationAge(facts!),
  };
}

/** An alert that is open in some state, and how many of them there are. */
export interface OpenAlertCount {
  state: AlertPhase;
  /** Null if the rule of a pending alert was deleted. */
  severity: AlertSeverity | null;
  count: number;
}

export const countOpenAlerts = (sql: Pick<Sql, "query">, projectId: number): Promise<OpenAlertCount[]> =>
  sql.query<OpenAlertCount>(OPEN, projectId);

function stateOf(facts: { isReadable: boolean; isPaused: boolean; failing: boolean }): EndpointState {
  if (facts.isPaused) return "paused";
  if (!facts.isReadable) return "unreadable";
  return facts.failing ? "failing" : "working";
}

/** Milliseconds by which the clock of a process may differ from the database's. Events are accepted this far ahead too. */
const CLOCK_TOLERANCE_MS = 5 * 60_000;

/**
 * Milliseconds since the rules were last evaluated. An evaluator whose evaluations all fail still renews its lease, but leaves signals
 * unread. A signal has the time of the process that wrote it, so only an old one counts.
 */
export function evaluationAge({
  rules,
  changedAt,
  now,
  renewedAt,
  signal,
}: EvaluationFacts): number | undefined {
  if (rules === 0) return undefined;
  const leaseAge = Math.max(0, now - Math.max(renewedAt ?? Number.NEGATIVE_INFINITY, changedAt ?? now));
  const signalAge = signal === null ? 0 : now - timeOfId(signal);
  return signalAge > CLOCK_TOLERANCE_MS ? Math.max(leaseAge, signalAge) : leaseAge;
}

/** The time in a UUID of version 7, epoch ms. */
const timeOfId = (id: string): number => Number.parseInt(id.replaceAll("-", "").slice(0, 12), 16);
