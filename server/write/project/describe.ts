import { BIN_WIDTH } from "@plimsoll/fold";
import { DEFAULT_AGENT } from "@plimsoll/protocol/events";
import { DESCRIBES_ITS_SESSION, NEWEST_FIRST } from "../../db/tables/boundaries.ts";
import { SLOT_MS } from "../../db/tables/buckets.ts";

/** Statements that derive rows in SQL from what is stored. $1 is the project id, $2 an array of ids. */

/** Of a time with a zone, `extract` is only STABLE, and an UPDATE on Citus takes IMMUTABLE functions alone. */
const slot = (time: string): string =>
  `floor(extract(epoch FROM ${time} AT TIME ZONE 'UTC') * 1000 / ${SLOT_MS})::int4`;

/** Sums sessions over all their agents. */
export const SUM_SESSIONS = `
UPDATE sessions s SET first_at = a.first_at, last_at = a.last_at, last_received_at = a.last_received_at,
  first_received_at = a.first_received_at,
  first_slot = ${slot("a.first_at")}, last_slot = ${slot("a.last_at")},
  open_slot = CASE WHEN s.ended_at >= a.last_at THEN -1 ELSE ${slot("a.last_received_at")} END,
  agents = a.agents, turns = a.turns, windows = a.windows, masked = a.masked, compacted = a.compacted,
  subticks = a.subticks, restarts = a.restarts, cleared = a.cleared, unexplained = a.unexplained,
  reclaimed = a.reclaimed, prompt_tokens = a.prompt_tokens, cached_tokens = a.cached_tokens,
  estimated_tokens = a.estimated_tokens, cost_micros = a.cost_micros, cost_turns = a.cost_turns,
  estimated_cost_micros = a.estimated_cost_micros, estimated_cost_turns = a.estimated_cost_turns, warnings = a.warnings, warned = a.warnings > 0, peak_tokens = a.peak_tokens,
  peak_utilization = a.peak_utilization,
  peak_bin = LEAST(COALESCE(floor(a.peak_utilization / ${BIN_WIDTH}), -1), 32767)::int2,
  main_agent = m.id, model = m.model, current_tokens = m.current_tokens, current_window = m.current_window,
  load = m.load
FROM unnest($2::uuid[]) AS r(id)
CROSS JOIN LATERAL (
  SELECT min(a.first_at) AS first_at, max(a.last_at) AS last_at, max(a.last_received_at) AS last_received_at,
    min(a.first_received_at) AS first_received_at,
    count(*) AS agents, sum(a.turns) AS turns, sum(a.windows) AS windows, sum(a.masked) AS masked,
    sum(a.compacted) AS compacted, sum(a.subticks) AS subticks, sum(a.restarts) AS restarts,
    sum(a.cleared) AS cleared, sum(a.unexplained) AS unexplained, sum(a.reclaimed) AS reclaimed,
    sum(a.prompt_tokens) AS prompt_tokens, sum(a.cached_tokens) AS cached_tokens,
    sum(a.estimated_tokens) AS estimated_tokens, sum(a.cost_micros) AS cost_micros, sum(a.cost_turns) AS cost_turns,
    sum(a.estimated_cost_micros) AS estimated_cost_micros, sum(a.estimated_cost_turns) AS estimated_cost_turns,
    sum(a.warnings) AS warnings, max(a.peak_tokens) AS peak_tokens, max(a.peak_utilization) AS peak_utilization
  FROM agents a WHERE a.project_id = $1 AND a.session_id = r.id
) a
CROSS JOIN LATERAL (
  SELECT m.id, m.model, m.current_tokens, m.current_window, m.load FROM agents m
  WHERE m.project_id = $1 AND m.session_id = r.id
  ORDER BY m.name = '${DEFAULT_AGENT}' DESC, m.parent IS NULL DESC, m.first_at, m.id LIMIT 1
) m
WHERE s.project_id = $1 AND s.id = r.id`;

const newest = (field: string, condition = `b.detail->>'${field}' IS NOT NULL`): string =>
  `(array_agg(b.detail->>'${field}' ORDER BY ${NEWEST_FIRST}) FILTER (WHERE ${condition}))[1]`;

/** Reads title, kind and end of sessions from all their `session` events: the newest wins, field by field. */
export const DESCRIBE_SESSIONS = `
UPDATE sessions s SET kind = d.kind, title = d.title, meta_at = d.meta_at, started_at = d.started_at,
  ended_at = CASE WHEN d.status = 'ended' THEN d.meta_at END,
  end_reason = CASE WHEN d.status = 'ended' THEN d.reason END,
  open_slot = CASE WHEN d.status = 'ended' AND d.meta_at >= s.last_at THEN -1
    ELSE ${slot("s.last_received_at")} END
FROM (
  SELECT b.session_id, ${newest("kind")} AS kind, ${newest("title", "b.detail->>'title' <> ''")} AS title,
    max(b.at) AS meta_at, min(b.at) FILTER (WHERE b.detail->>'status' = 'started') AS started_at,
    ${newest("status")} AS status, ${newest("reason", "true")} AS reason
  FROM boundaries b
  WHERE b.project_id = $1 AND b.type = 'session' AND b.session_id = ANY($2::uuid[]) AND ${DESCRIBES_ITS_SESSION}
  GROUP BY b.session_id
) d
WHERE s.project_id = $1 AND s.id = d.session_id`;

/** Reads name, version, capabilities and status of harnesses from their events: the newest wins. */
export const DESCRIBE_HARNESSES = `
UPDATE harnesses h SET status = latest.detail->>'status', status_at = latest.at,
  person_id = (latest.detail->>'person')::uuid, name = hello.detail->>'name', version = hello.detail->>'version',
  capabilities = COALESCE(ARRAY(SELECT jsonb_array_elements_text(hello.detail->'capabilities')), '{}')
FROM unnest($2::uuid[]) AS r(id)
CROSS JOIN LATERAL (SELECT b.detail, b.at FROM boundaries b
  WHERE b.project_id = $1 AND b.agent_id = r.id AND b.type = 'harness'
  ORDER BY b.at DESC, b.id COLLATE "C" DESC LIMIT 1) latest
CROSS JOIN LATERAL (SELECT b.detail FROM boundaries b
  WHERE b.project_id = $1 AND b.agent_id = r.id AND b.type = 'harness'
  ORDER BY (b.detail->>'status' = 'hello') DESC, b.at DESC, b.id COLLATE "C" DESC LIMIT 1) hello
WHERE h.project_id = $1 AND h.id = r.id`;
