import type { AlertNotification } from "@plimsoll/protocol/alerts";
import type { AttemptOutcome } from "@plimsoll/protocol/api";
import type { WriterSql, Writers } from "../../db/sql.ts";
import { DAY_MS } from "../../times.ts";
import type { DeliveryStep, EndpointHealth } from "./retry-schedule.ts";
import type { AttemptResult } from "./send-request.ts";

const time = (parameter: string) => `to_timestamp(${parameter}::float8 / 1000)`;
/** Of a time with a zone, `extract` is only STABLE, which Citus refuses in a RETURNING. */
const ms = (column: string) => `(extract(epoch FROM ${column} AT TIME ZONE 'UTC') * 1000)::float8`;

/** An endpoint of a project. */
export interface EndpointKey {
  projectId: number;
  endpointId: string;
}

const NOW = `SELECT ${ms("clock_timestamp()")} AS now`;

/** The database's time in epoch ms. */
export async function readNow(sql: Pick<Writers, "query">): Promise<number> {
  const [row] = await sql.query<{ now: number }>(NOW);
  return row!.now;
}

/** Milliseconds by which the database's clock may seem to be set back without being so. */
const CLOCK_SLACK_MS = 1_000;

/** True of a delivery that is due. One that was decided on in the future waited for a clock that was set back. */
const isDue = (row: string, now: string) =>
  `(${row}.next_at <= ${time(now)} OR COALESCE(${row}.decided_at, ${row}.since) > ${time(`(${now}::float8 + ${CLOCK_SLACK_MS})`)})`;

/** Endpoints whose deliveries wait behind one that is under way are found again when it is over. */
const DUE = `
SELECT e.project_id AS "projectId", e.id AS "endpointId" FROM alert_endpoints e JOIN projects p ON p.id = e.project_id
WHERE p.deleting_at IS NULL AND e.pause_reason IS NULL AND e.key_id = $1 AND EXISTS (
  SELECT 1 FROM alert_deliveries d
  WHERE d.project_id = e.project_id AND d.endpoint_id = e.id AND d.state = 'waiting' AND ${isDue("d", "$2")})`;

/** Endpoints with deliveries that are due. */
export function readDueEndpoints(
  sql: Pick<Writers, "query">,
  keyId: string,
  now: number,
): Promise<EndpointKey[]> {
  return sql.query<EndpointKey>(DUE, keyId, now);
}

const ENDPOINT = `
SELECT sealed, address, pause_reason IS NOT NULL AS paused, ${ms("previous_secret_until")} AS "previousSecretUntil", ${ms("failing_since")} AS "failingSince",
  (SELECT name FROM projects WHERE id = $1) AS "projectName"
FROM alert_endpoints WHERE project_id = $1 AND id = $2::uuid`;

/** What an attempt needs to know of an endpoint. */
export interface EndpointRow {
  sealed: Uint8Array;
  address: string;
  paused: boolean;
  /** Epoch ms. */
  previousSecretUntil: number | null;
  failingSince: number | null;
  projectName: string;
}

/** @returns undefined if it is gone */
export async function readEndpoint(
  sql: Pick<Writers, "query">,
  { projectId, endpointId }: EndpointKey,
): Promise<EndpointRow | undefined> {
  const [row] = await sql.query<EndpointRow>(ENDPOINT, projectId, endpointId);
  return row;
}

/**
 * The oldest of each group, so that the messages of a group keep their order. Materialized: a join could run the query again for each
 * row, which would then claim more than its limit.
 */
const CLAIM = `
WITH due AS MATERIALIZED (
  SELECT id FROM alert_deliveries h
  WHERE project_id = $1 AND endpoint_id = $2::uuid AND state = 'waiting' AND ${isDue("h", "$3")}
    AND NOT EXISTS (
      SELECT 1 FROM alert_deliveries e WHERE e.project_id = $1 AND e.endpoint_id = $2::uuid AND e.state = 'waiting'
        AND e.group_key = h.group_key AND e.serial < h.serial)
  ORDER BY serial LIMIT $5 FOR UPDATE SKIP LOCKED)
UPDATE alert_deliveries d SET attempts = d.attempts + 1, next_at = ${time("$4")}, decided_at = ${time("$3")}
FROM due
WHERE d.project_id = $1 AND d.endpoint_id = $2::uuid AND d.id = due.id
RETURNING d.id, d.attempts AS number, d.body, ${ms("d.since")} AS since,
  (SELECT count(*)::int4 FROM alert_attempts a
   WHERE a.project_id = $1 AND a.endpoint_id = $2::uuid AND a.delivery_id = d.id AND a.at >= d.since) AS before`;

/** A delivery that this process may attempt until its claim ends. */
export interface ClaimedDelivery {
  id: string;
  /** Of this attempt, over all times. */
  number: number;
  /** Attempts before it since the delivery's time began. */
  before: number;
  body: AlertNotification;
  /** Epoch ms. */
  since: number;
}

/** Claims deliveries that are due. Should this process be killed, another one may claim them at `until`. */
export function claimDeliveries(
  sql: Pick<Writers, "query">,
  { projectId, endpointId }: EndpointKey,
  { now, until, most }: { now: number; until: number; most: number },
): Promise<ClaimedDelivery[]> {
  return sql.query<ClaimedDelivery>(CLAIM, projectId, endpointId, now, until, most);
}

/** Another process may have claimed it since, if this one was paused. */
const FINISH = `
UPDATE alert_deliveries SET state = $5, next_at = ${time("$6")}, finished_at = ${time("$7")}, last_outcome = $8, decided_at = ${time("$9")}
WHERE project_id = $1 AND endpoint_id = $2::uuid AND id = $3 AND attempts = $4 AND state = 'waiting'`;
const LOG_ATTEMPT = `
INSERT INTO alert_attempts (project_id, endpoint_id, delivery_id, number, at, outcome, status, duration_ms, request, answer)
VALUES ($1, $2::uuid, $3, $4, ${time("$5")}, $6, $7, $8, $9, $10) ON CONFLICT DO NOTHING`;
const NOTE_HEALTH = `
UPDATE alert_endpoints SET failing_since = ${time("$3")}, last_at = ${time("$4")}, last_outcome = $5, last_status = $6,
  pause_reason = COALESCE(pause_reason, $7::text), paused_at = CASE WHEN $7::text IS NULL THEN paused_at ELSE ${time("$4")} END
WHERE project_id = $1 AND id = $2::uuid`;

/** An attempt as the log keeps it. */
export interface LoggedAttempt extends Pick<AttemptResult, "outcome" | "status" | "answer"> {
  number: number;
  /** When it ended. Epoch ms. */
  at: number;
  durationMs: number;
  request: string;
}

/** Stores an attempt, and what follows from it for the delivery and the endpoint. */
export function sendAttemptRows(
  sql: Pick<WriterSql, "send">,
  { projectId, endpointId }: EndpointKey,
  deliveryId: string,
  attempt: LoggedAttempt,
  { step, health }: { step: DeliveryStep; health: EndpointHealth },
): void {
  const { number, at, outcome, status = null, durationMs, request, answer } = attempt;
  const nextAt = step.state === "waiting" ? step.nextAt : null;
  const finishedAt = step.state === "waiting" ? null : at;
  sql.send(FINISH, projectId, endpointId, deliveryId, number, step.state, nextAt, finishedAt, outcome, at);
  sql.send(
    LOG_ATTEMPT,
    projectId,
    endpointId,
    deliveryId,
    number,
    at,
    outcome,
    status,
    Math.round(durationMs),
    request,
    answer,
  );
  noteHealth(sql, { projectId, endpointId }, attempt, health);
}

/** Stores what an attempt says about its endpoint. */
export function noteHealth(
  sql: Pick<WriterSql, "send">,
  { projectId, endpointId }: EndpointKey,
  { at, outcome, status }: Pick<LoggedAttempt, "at" | "outcome" | "status">,
  { failingSince, pause }: EndpointHealth,
): void {
  const values = [failingSince ?? null, at, outcome satisfies AttemptOutcome, status ?? null, pause ?? null];
  sql.send(NOTE_HEALTH, projectId, endpointId, ...values);
}

const ADD_TEST = `
INSERT INTO alert_deliveries
  (project_id, endpoint_id, id, group_key, kind, title, body, state, attempts, created_at, since, next_at, decided_at)
VALUES ($1, $2::uuid, $3, $4, $5, $6, $7::jsonb, 'waiting', 1, ${time("$8")}, ${time("$8")}, ${time("$9")}, ${time("$8")})`;

/** Stores a delivery that this process attempts at once. */
export async function addClaimedDelivery(
  sql: Pick<Writers, "query">,
  { projectId, endpointId }: EndpointKey,
  { notification, title }: { notification: AlertNotification; title: string },
  { now, until }: { now: number; until: number },
): Promise<void> {
  const { id, group, kind } = notification;
  const body = JSON.stringify(notification);
  await sql.query(ADD_TEST, projectId, endpointId, id, group, kind, title, body, now, until);
}

/** Finished deliveries that are kept: of each endpoint so many, for so long. */
const MOST_FINISHED = 1_000;
const KEPT_MS = 30 * DAY_MS;
/** Rows of one statement. */
const TRIMMED = 500;

const OLD = `
SELECT endpoint_id, id FROM (
  SELECT endpoint_id, id, finished_at, row_number() OVER (PARTITION BY endpoint_id ORDER BY serial DESC) AS place
  FROM alert_deliveries WHERE project_id = $1 AND state <> 'waiting') finished
WHERE place > ${MOST_FINISHED} OR finished_at < ${time("$2")}
ORDER BY endpoint_id, id LIMIT ${TRIMMED}`;
const TRIM_ATTEMPTS = `
DELETE FROM alert_attempts a USING (${OLD}) old
WHERE a.project_id = $1 AND a.endpoint_id = old.endpoint_id AND a.delivery_id = old.id`;
const TRIM_DELIVERIES = `
DELETE FROM alert_deliveries d USING (${OLD}) old
WHERE d.project_id = $1 AND d.endpoint_id = old.endpoint_id AND d.id = old.id RETURNING 1`;

/** Deletes the log of long ago, some rows at a time. @returns whether there may be more */
export async function trimDeliveries(
  sql: Pick<Writers, "transaction">,
  projectId: number,
  now: number,
): Promise<boolean> {
  return sql.transaction(async (tx) => {
    tx.send(TRIM_ATTEMPTS, projectId, now - KEPT_MS);
    const deleted = await tx.execute(TRIM_DELIVERIES, projectId, now - KEPT_MS);
    return deleted === TRIMMED;
  });
}
