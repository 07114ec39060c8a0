-- Everything that Plimsoll stores. A table that grows has project_id first in its key: Citus distributes by it, see
-- prisma/citus.sql. prisma/schema.prisma says what the columns mean; the comments here say why an index or a setting is as it is.

CREATE TABLE projects (
  id SERIAL,
  name TEXT NOT NULL,
  created_at TIMESTAMPTZ(3) NOT NULL,
  archived_at TIMESTAMPTZ(3),
  deleting_at TIMESTAMPTZ(3),
  policy_revision INTEGER NOT NULL DEFAULT 0,
  alerting BOOLEAN NOT NULL DEFAULT false,
  alert_revision INTEGER NOT NULL DEFAULT 0,
  session_days INTEGER,
  rollup_days INTEGER,
  horizon TIMESTAMPTZ(3),
  PRIMARY KEY (id)
);
CREATE UNIQUE INDEX projects_name_key ON projects (name);

CREATE TABLE api_keys (
  project_id INTEGER NOT NULL,
  id UUID NOT NULL,
  name TEXT NOT NULL,
  prefix TEXT NOT NULL,
  hash BYTEA NOT NULL,
  scopes TEXT[],
  created_at TIMESTAMPTZ(3) NOT NULL,
  last_used_at TIMESTAMPTZ(3),
  revoked_at TIMESTAMPTZ(3),
  expires_at TIMESTAMPTZ(3),
  replaced_by UUID,
  PRIMARY KEY (project_id, id)
);
CREATE UNIQUE INDEX api_keys_hash_key ON api_keys (hash);

CREATE TABLE browser_sessions (
  hash BYTEA NOT NULL,
  created_at TIMESTAMPTZ(3) NOT NULL,
  expires_at TIMESTAMPTZ(3) NOT NULL,
  id UUID NOT NULL,
  last_seen_at TIMESTAMPTZ(3) NOT NULL,
  address TEXT,
  browser TEXT,
  PRIMARY KEY (hash)
);
CREATE UNIQUE INDEX browser_sessions_id_key ON browser_sessions (id);

CREATE TABLE audit_entries (
  id UUID NOT NULL,
  at TIMESTAMPTZ(3) NOT NULL,
  action TEXT NOT NULL,
  actor TEXT NOT NULL,
  actor_id TEXT,
  actor_name TEXT,
  address TEXT,
  project INTEGER,
  target TEXT,
  detail TEXT,
  count INTEGER NOT NULL DEFAULT 1,
  PRIMARY KEY (id)
);
CREATE INDEX audit_entries_at_id_idx ON audit_entries (at, id);
CREATE INDEX audit_entries_project_at_id_idx ON audit_entries (project, at, id);

CREATE TABLE model_windows (
  project_id INTEGER NOT NULL,
  model TEXT NOT NULL,
  tokens INTEGER NOT NULL,
  updated_at TIMESTAMPTZ(3) NOT NULL,
  PRIMARY KEY (project_id, model)
);

CREATE TABLE record_mappings (
  project_id INTEGER NOT NULL,
  name TEXT NOT NULL,
  body JSONB NOT NULL,
  updated_at TIMESTAMPTZ(3) NOT NULL,
  PRIMARY KEY (project_id, name)
);

CREATE TABLE models (
  project_id INTEGER NOT NULL,
  id INTEGER NOT NULL,
  name TEXT NOT NULL,
  added_at TIMESTAMPTZ(3) NOT NULL,
  PRIMARY KEY (project_id, id)
);
CREATE UNIQUE INDEX models_project_id_name_key ON models (project_id, name);

CREATE TABLE harnesses (
  project_id INTEGER NOT NULL,
  id UUID NOT NULL,
  instance TEXT NOT NULL,
  name TEXT,
  version TEXT,
  capabilities TEXT[] DEFAULT ARRAY[]::TEXT[],
  status TEXT NOT NULL DEFAULT 'unknown',
  status_at TIMESTAMPTZ(3),
  first_at TIMESTAMPTZ(3) NOT NULL,
  last_at TIMESTAMPTZ(3) NOT NULL,
  last_received_at TIMESTAMPTZ(3) NOT NULL,
  added_at TIMESTAMPTZ(3) NOT NULL,
  deleted_at TIMESTAMPTZ(3),
  PRIMARY KEY (project_id, id)
);
-- Partial: almost no row is marked, and the projector looks once a second.
CREATE INDEX harnesses_deleted_idx ON harnesses (project_id, deleted_at) WHERE deleted_at IS NOT NULL;

-- Rows that change with every batch keep room on their page, so that their new versions stay beside them.
CREATE TABLE sessions (
  project_id INTEGER NOT NULL,
  id UUID NOT NULL,
  harness TEXT NOT NULL,
  name TEXT NOT NULL,
  kind TEXT,
  title TEXT,
  meta_at TIMESTAMPTZ(3),
  started_at TIMESTAMPTZ(3),
  ended_at TIMESTAMPTZ(3),
  end_reason TEXT,
  first_at TIMESTAMPTZ(3) NOT NULL,
  last_at TIMESTAMPTZ(3) NOT NULL,
  last_received_at TIMESTAMPTZ(3) NOT NULL,
  model TEXT,
  current_tokens INTEGER,
  current_window INTEGER,
  load REAL,
  peak_tokens INTEGER,
  peak_utilization REAL,
  turns INTEGER NOT NULL DEFAULT 0,
  agents INTEGER NOT NULL DEFAULT 0,
  windows INTEGER NOT NULL DEFAULT 0,
  masked INTEGER NOT NULL DEFAULT 0,
  compacted INTEGER NOT NULL DEFAULT 0,
  subticks INTEGER NOT NULL DEFAULT 0,
  restarts INTEGER NOT NULL DEFAULT 0,
  cleared INTEGER NOT NULL DEFAULT 0,
  unexplained INTEGER NOT NULL DEFAULT 0,
  reclaimed BIGINT NOT NULL DEFAULT 0,
  warnings INTEGER NOT NULL DEFAULT 0,
  last_slot INTEGER NOT NULL DEFAULT 0,
  peak_bin SMALLINT NOT NULL DEFAULT -1,
  first_slot INTEGER NOT NULL DEFAULT 0,
  warned BOOLEAN NOT NULL DEFAULT false,
  open_slot INTEGER NOT NULL DEFAULT -1,
  version INTEGER NOT NULL DEFAULT 1,
  main_agent UUID,
  first_received_at TIMESTAMPTZ(3) NOT NULL,
  deleted_at TIMESTAMPTZ(3),
  PRIMARY KEY (project_id, id)
) WITH (fillfactor = 70);
-- Partial: almost no row is marked, and the projector looks once a second.
CREATE INDEX sessions_deleted_idx ON sessions (project_id, deleted_at) WHERE deleted_at IS NOT NULL;
-- The sessions of a range, those past their warning, and those still open are counted from an index alone: reading each row
-- would make the first page slower with every month kept. The columns are coarse, so most updates leave every index alone.
CREATE INDEX sessions_project_id_last_slot_first_slot_warned_harness_idx ON sessions (project_id, last_slot DESC, first_slot, warned, harness);
CREATE INDEX sessions_project_id_open_slot_idx ON sessions (project_id, open_slot DESC);
CREATE INDEX sessions_project_id_peak_bin_idx ON sessions (project_id, peak_bin DESC);

-- Keeps room on its pages, like sessions.
CREATE TABLE agents (
  project_id INTEGER NOT NULL,
  id UUID NOT NULL,
  session_id UUID NOT NULL,
  name TEXT NOT NULL,
  parent TEXT,
  model TEXT,
  first_at TIMESTAMPTZ(3) NOT NULL,
  last_at TIMESTAMPTZ(3) NOT NULL,
  last_received_at TIMESTAMPTZ(3) NOT NULL,
  turns INTEGER NOT NULL DEFAULT 0,
  windows INTEGER NOT NULL DEFAULT 0,
  current_tokens INTEGER,
  current_window INTEGER,
  window_source SMALLINT NOT NULL DEFAULT 0,
  load REAL,
  peak_tokens INTEGER,
  peak_window INTEGER,
  peak_utilization REAL,
  peak_at TIMESTAMPTZ(3),
  masked INTEGER NOT NULL DEFAULT 0,
  compacted INTEGER NOT NULL DEFAULT 0,
  subticks INTEGER NOT NULL DEFAULT 0,
  restarts INTEGER NOT NULL DEFAULT 0,
  cleared INTEGER NOT NULL DEFAULT 0,
  unexplained INTEGER NOT NULL DEFAULT 0,
  reclaimed BIGINT NOT NULL DEFAULT 0,
  warnings INTEGER NOT NULL DEFAULT 0,
  version INTEGER NOT NULL DEFAULT 1,
  state TEXT,
  number INTEGER NOT NULL,
  has_state BOOLEAN NOT NULL DEFAULT false,
  first_received_at TIMESTAMPTZ(3) NOT NULL,
  own_session UUID,
  PRIMARY KEY (project_id, id)
) WITH (fillfactor = 70);
-- Leads from a session to the agent. Partial: few agents have one.
CREATE INDEX agents_own_session_idx ON agents (project_id, own_session) WHERE own_session IS NOT NULL;
CREATE UNIQUE INDEX agents_project_id_number_key ON agents (project_id, number);
CREATE INDEX agents_project_id_session_id_idx ON agents (project_id, session_id);
-- Partial: agents that nobody hears from have no state.
CREATE INDEX agents_state_idx ON agents (project_id, number) WHERE has_state;

-- Keeps room on its pages, like sessions.
CREATE TABLE windows (
  project_id INTEGER NOT NULL,
  agent_id UUID NOT NULL,
  index INTEGER NOT NULL,
  first_at TIMESTAMPTZ(3) NOT NULL,
  last_at TIMESTAMPTZ(3) NOT NULL,
  turns INTEGER NOT NULL,
  first_tokens INTEGER,
  last_tokens INTEGER,
  peak_tokens INTEGER,
  peak_utilization REAL,
  window_tokens INTEGER,
  PRIMARY KEY (project_id, agent_id, index)
) WITH (fillfactor = 80);

CREATE TABLE turn_blocks (
  project_id INTEGER NOT NULL,
  agent INTEGER NOT NULL,
  first_at TIMESTAMPTZ(3) NOT NULL,
  first_key BIGINT NOT NULL,
  last_at TIMESTAMPTZ(3) NOT NULL,
  turns INTEGER NOT NULL,
  keys BYTEA NOT NULL,
  data BYTEA NOT NULL,
  PRIMARY KEY (project_id, agent, first_at, first_key)
);
-- Packed turns do not compress.
ALTER TABLE turn_blocks ALTER COLUMN keys SET STORAGE EXTERNAL, ALTER COLUMN data SET STORAGE EXTERNAL;

CREATE TABLE segments (
  project_id INTEGER NOT NULL,
  agent INTEGER NOT NULL,
  ends_at TIMESTAMPTZ(3) NOT NULL,
  state TEXT NOT NULL,
  summary TEXT NOT NULL,
  PRIMARY KEY (project_id, agent, ends_at)
);

CREATE TABLE boundaries (
  project_id INTEGER NOT NULL,
  agent_id UUID NOT NULL,
  id TEXT NOT NULL,
  session_id UUID,
  type TEXT NOT NULL,
  origin SMALLINT NOT NULL,
  at TIMESTAMPTZ(3) NOT NULL,
  received_at TIMESTAMPTZ(3) NOT NULL,
  window_index INTEGER NOT NULL,
  sent_window INTEGER,
  tokens_before INTEGER,
  tokens_after INTEGER,
  detail JSONB NOT NULL,
  PRIMARY KEY (project_id, agent_id, id)
);
-- The latest compactions of a project show where its harnesses really compact. Partial: a compaction follows hundreds of
-- turns, so few writes touch this index.
CREATE INDEX boundaries_compacted_idx ON boundaries (project_id, at DESC) WHERE type = 'compacted';
-- Finds the latest boundary of a type at once: an agent that masks or restarts for days has thousands.
CREATE INDEX boundaries_project_id_agent_id_type_at_idx ON boundaries (project_id, agent_id, type, at);
CREATE INDEX boundaries_session_idx ON boundaries (project_id, session_id) WHERE type = 'session';

CREATE TABLE crossings (
  project_id INTEGER NOT NULL,
  agent_id UUID NOT NULL,
  id TEXT NOT NULL,
  session_id UUID NOT NULL,
  threshold TEXT NOT NULL,
  up BOOLEAN NOT NULL,
  origin SMALLINT NOT NULL,
  at TIMESTAMPTZ(3) NOT NULL,
  turn_key BIGINT,
  threshold_tokens INTEGER NOT NULL,
  context_tokens INTEGER NOT NULL,
  window_tokens INTEGER,
  PRIMARY KEY (project_id, agent_id, id)
);
CREATE INDEX crossings_project_id_session_id_threshold_up_at_idx ON crossings (project_id, session_id, threshold, up, at);
CREATE INDEX crossings_project_id_threshold_up_at_session_id_idx ON crossings (project_id, threshold, up, at, session_id);

-- Each bucket has a row under an empty harness and model that adds up all its others. The harness comes before the bucket in
-- the key, so that these rows, and those of any one harness, lie together.
CREATE TABLE rollups (
  project_id INTEGER NOT NULL,
  grain SMALLINT NOT NULL,
  bucket TIMESTAMPTZ(3) NOT NULL,
  harness TEXT NOT NULL,
  model TEXT NOT NULL,
  turns INTEGER NOT NULL,
  missing INTEGER NOT NULL,
  fresh BIGINT NOT NULL,
  cache_read BIGINT NOT NULL,
  cache_write BIGINT NOT NULL,
  output BIGINT NOT NULL,
  cost_micros BIGINT NOT NULL,
  peak_tokens INTEGER,
  peak_utilization REAL,
  bins INTEGER[],
  stale BOOLEAN NOT NULL DEFAULT false,
  PRIMARY KEY (project_id, grain, harness, bucket, model)
);
-- Partial: a peak is stale until the projector has read it again.
CREATE INDEX rollups_stale_idx ON rollups (project_id, bucket) WHERE stale;

-- In the same order as rollups.
CREATE TABLE boundary_rollups (
  project_id INTEGER NOT NULL,
  grain SMALLINT NOT NULL,
  bucket TIMESTAMPTZ(3) NOT NULL,
  harness TEXT NOT NULL,
  type TEXT NOT NULL,
  count INTEGER NOT NULL,
  reclaimed BIGINT NOT NULL,
  PRIMARY KEY (project_id, grain, harness, bucket, type)
);

CREATE TABLE rollup_names (
  project_id INTEGER NOT NULL,
  day TIMESTAMPTZ(3) NOT NULL,
  harness TEXT NOT NULL,
  model TEXT NOT NULL,
  PRIMARY KEY (project_id, day, harness, model)
);

-- Without it, no check could tell a deletion from a loss.
CREATE TABLE removed_counts (
  project_id INTEGER NOT NULL,
  counted_in TEXT NOT NULL,
  what TEXT NOT NULL,
  count BIGINT NOT NULL,
  PRIMARY KEY (project_id, counted_in, what)
);

CREATE TABLE ingest_counts (
  project_id INTEGER NOT NULL,
  day TIMESTAMPTZ(3) NOT NULL,
  outcome TEXT NOT NULL,
  count BIGINT NOT NULL,
  PRIMARY KEY (project_id, day, outcome)
);

CREATE TABLE ingest_refusals (
  project_id INTEGER NOT NULL,
  harness TEXT NOT NULL,
  type TEXT NOT NULL,
  code TEXT NOT NULL,
  path TEXT NOT NULL,
  message TEXT NOT NULL,
  example TEXT NOT NULL,
  count BIGINT NOT NULL,
  first_at TIMESTAMPTZ(3) NOT NULL,
  last_at TIMESTAMPTZ(3) NOT NULL,
  PRIMARY KEY (project_id, harness, type, code, path)
);

CREATE TABLE unmapped_telemetry (
  project_id INTEGER NOT NULL,
  signal TEXT NOT NULL,
  service TEXT NOT NULL,
  scope TEXT NOT NULL,
  name TEXT NOT NULL,
  reason TEXT NOT NULL,
  dialect TEXT NOT NULL,
  attributes TEXT[],
  count BIGINT NOT NULL,
  first_at TIMESTAMPTZ(3) NOT NULL,
  last_at TIMESTAMPTZ(3) NOT NULL,
  PRIMARY KEY (project_id, signal, service, scope, name, reason)
);

-- Every row lives for a moment only, so vacuum follows closely.
CREATE TABLE journal (
  project_id INTEGER NOT NULL,
  id UUID NOT NULL,
  events INTEGER NOT NULL,
  received_at TIMESTAMPTZ(3) NOT NULL DEFAULT clock_timestamp(),
  body BYTEA NOT NULL,
  PRIMARY KEY (project_id, id)
) WITH (autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 5000,
  toast.autovacuum_vacuum_scale_factor = 0, toast.autovacuum_vacuum_threshold = 20000);

CREATE TABLE projectors (
  project_id INTEGER NOT NULL,
  holder UUID,
  epoch BIGINT NOT NULL,
  policy_revision INTEGER NOT NULL DEFAULT 0,
  beat BIGINT NOT NULL DEFAULT 0,
  patience_ms INTEGER NOT NULL DEFAULT 3000,
  renewed_at TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,
  changed_at TIMESTAMPTZ(3),
  contested_at TIMESTAMPTZ(3),
  PRIMARY KEY (project_id)
);

CREATE TABLE policy_versions (
  project_id INTEGER NOT NULL,
  generation INTEGER NOT NULL,
  hash TEXT NOT NULL,
  body JSONB NOT NULL,
  reason TEXT NOT NULL,
  actor TEXT NOT NULL,
  actor_name TEXT,
  restores INTEGER,
  created_at TIMESTAMPTZ(3) NOT NULL,
  PRIMARY KEY (project_id, generation)
);

CREATE TABLE policy_steps (
  project_id INTEGER NOT NULL,
  revision INTEGER NOT NULL,
  generation INTEGER NOT NULL,
  at TIMESTAMPTZ(3) NOT NULL,
  share DOUBLE PRECISION NOT NULL,
  harnesses TEXT[] NOT NULL,
  created_at TIMESTAMPTZ(3) NOT NULL,
  PRIMARY KEY (project_id, revision)
);

CREATE TABLE policy_rollouts (
  project_id INTEGER NOT NULL,
  generation INTEGER NOT NULL,
  plan JSONB NOT NULL,
  state TEXT NOT NULL,
  stage INTEGER NOT NULL,
  canary TEXT,
  since TIMESTAMPTZ(3) NOT NULL,
  resumed_at TIMESTAMPTZ(3),
  forgiven TEXT[] NOT NULL,
  halt_reason TEXT,
  ended_at TIMESTAMPTZ(3),
  PRIMARY KEY (project_id, generation)
);
-- Few rollouts run at a time, and every server asks for them every few seconds.
CREATE INDEX policy_rollouts_running_idx ON policy_rollouts (project_id) WHERE state = 'running';

CREATE TABLE alert_rules (
  project_id INTEGER NOT NULL,
  id UUID NOT NULL,
  name TEXT NOT NULL,
  version INTEGER NOT NULL,
  judged_version INTEGER NOT NULL,
  enabled BOOLEAN NOT NULL,
  body JSONB NOT NULL,
  actor TEXT NOT NULL,
  actor_name TEXT,
  created_at TIMESTAMPTZ(3) NOT NULL,
  updated_at TIMESTAMPTZ(3) NOT NULL,
  PRIMARY KEY (project_id, id)
);
CREATE UNIQUE INDEX alert_rules_project_id_name_key ON alert_rules (project_id, name);

CREATE TABLE alerts (
  project_id INTEGER NOT NULL,
  id UUID NOT NULL,
  rule_id UUID NOT NULL,
  judged_version INTEGER NOT NULL,
  subject TEXT NOT NULL,
  phase TEXT NOT NULL,
  place JSONB NOT NULL,
  labels JSONB NOT NULL,
  group_key TEXT NOT NULL,
  session_id UUID,
  started_at TIMESTAMPTZ(3) NOT NULL,
  pending_at TIMESTAMPTZ(3) NOT NULL,
  fired_at TIMESTAMPTZ(3),
  clear_at TIMESTAMPTZ(3),
  resolved_at TIMESTAMPTZ(3),
  end_reason TEXT,
  facts JSONB,
  acknowledged_at TIMESTAMPTZ(3),
  acknowledged_by TEXT,
  PRIMARY KEY (project_id, id)
);
-- A rule has one alert for a subject at a time. Few alerts are open.
CREATE UNIQUE INDEX alerts_open_key ON alerts (project_id, rule_id, subject) WHERE resolved_at IS NULL;
CREATE INDEX alerts_project_id_fired_at_id_idx ON alerts (project_id, fired_at DESC, id DESC);
-- The Session page lists the alerts of one session, and reads them again with every change.
CREATE INDEX alerts_project_id_session_id_fired_at_id_idx ON alerts (project_id, session_id, fired_at DESC, id DESC);

CREATE TABLE alert_groups (
  project_id INTEGER NOT NULL,
  key TEXT NOT NULL,
  memory JSONB NOT NULL,
  receivers JSONB NOT NULL,
  next_at TIMESTAMPTZ(3),
  PRIMARY KEY (project_id, key)
);

CREATE TABLE alert_silences (
  project_id INTEGER NOT NULL,
  id UUID NOT NULL,
  matchers JSONB NOT NULL,
  comment TEXT NOT NULL,
  starts_at TIMESTAMPTZ(3) NOT NULL,
  ends_at TIMESTAMPTZ(3) NOT NULL,
  actor TEXT NOT NULL,
  actor_name TEXT,
  created_at TIMESTAMPTZ(3) NOT NULL,
  PRIMARY KEY (project_id, id)
);

CREATE TABLE alert_signals (
  project_id INTEGER NOT NULL,
  id UUID NOT NULL,
  sessions UUID[] NOT NULL,
  PRIMARY KEY (project_id, id)
);

CREATE TABLE alert_evaluators (
  project_id INTEGER NOT NULL,
  holder UUID,
  epoch BIGINT NOT NULL,
  watching_since TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,
  samples JSONB NOT NULL DEFAULT '[]',
  beat BIGINT NOT NULL DEFAULT 0,
  patience_ms INTEGER NOT NULL DEFAULT 3000,
  renewed_at TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,
  changed_at TIMESTAMPTZ(3),
  contested_at TIMESTAMPTZ(3),
  PRIMARY KEY (project_id)
);

CREATE TABLE alert_endpoints (
  project_id INTEGER NOT NULL,
  id UUID NOT NULL,
  name TEXT NOT NULL,
  kind TEXT NOT NULL,
  address TEXT NOT NULL,
  version INTEGER NOT NULL,
  sealed BYTEA NOT NULL,
  key_id TEXT NOT NULL,
  previous_secret_until TIMESTAMPTZ(3),
  pause_reason TEXT,
  paused_at TIMESTAMPTZ(3),
  failing_since TIMESTAMPTZ(3),
  last_at TIMESTAMPTZ(3),
  last_outcome TEXT,
  last_status INTEGER,
  created_at TIMESTAMPTZ(3) NOT NULL,
  updated_at TIMESTAMPTZ(3) NOT NULL,
  PRIMARY KEY (project_id, id)
);
CREATE UNIQUE INDEX alert_endpoints_project_id_name_key ON alert_endpoints (project_id, name);

CREATE TABLE alert_deliveries (
  project_id INTEGER NOT NULL,
  endpoint_id UUID NOT NULL,
  id TEXT NOT NULL,
  -- Deliveries of one endpoint and group leave in this order.
  serial BIGSERIAL,
  group_key TEXT NOT NULL,
  kind TEXT NOT NULL,
  title TEXT NOT NULL,
  body JSONB NOT NULL,
  state TEXT NOT NULL,
  attempts INTEGER NOT NULL DEFAULT 0,
  last_outcome TEXT,
  created_at TIMESTAMPTZ(3) NOT NULL,
  -- From when the time for attempts counts: creation, or the last redelivery.
  since TIMESTAMPTZ(3) NOT NULL,
  next_at TIMESTAMPTZ(3),
  finished_at TIMESTAMPTZ(3),
  decided_at TIMESTAMPTZ(3),
  PRIMARY KEY (project_id, endpoint_id, id)
);
CREATE INDEX alert_deliveries_endpoint_serial_idx ON alert_deliveries (project_id, endpoint_id, serial DESC);
CREATE INDEX alert_deliveries_project_id_serial_idx ON alert_deliveries (project_id, serial DESC);
-- Partial: few deliveries wait.
CREATE INDEX alert_deliveries_waiting_idx ON alert_deliveries (project_id, endpoint_id, serial) WHERE state = 'waiting';

CREATE TABLE alert_attempts (
  project_id INTEGER NOT NULL,
  endpoint_id UUID NOT NULL,
  delivery_id TEXT NOT NULL,
  number INTEGER NOT NULL,
  at TIMESTAMPTZ(3) NOT NULL,
  outcome TEXT NOT NULL,
  status INTEGER,
  duration_ms INTEGER NOT NULL,
  request TEXT NOT NULL,
  answer TEXT NOT NULL,
  PRIMARY KEY (project_id, endpoint_id, delivery_id, number)
);

CREATE TABLE refolds (
  project_id INTEGER NOT NULL,
  agent_id UUID NOT NULL,
  reason TEXT NOT NULL,
  asked_at TIMESTAMPTZ(3) NOT NULL DEFAULT clock_timestamp(),
  done_to TIMESTAMPTZ(3),
  PRIMARY KEY (project_id, agent_id)
);

CREATE TABLE rejected_events (
  project_id INTEGER NOT NULL,
  id UUID NOT NULL,
  received_at TIMESTAMPTZ(3) NOT NULL,
  error TEXT NOT NULL,
  event JSONB NOT NULL,
  PRIMARY KEY (project_id, id)
);

-- Tags and notes are in tables of their own, because the projector rewrites the rows of sessions.
CREATE TABLE session_tags (
  project_id INTEGER NOT NULL,
  session_id UUID NOT NULL,
  tag TEXT NOT NULL,
  PRIMARY KEY (project_id, session_id, tag)
);
CREATE INDEX session_tags_project_id_tag_session_id_idx ON session_tags (project_id, tag, session_id);

CREATE TABLE session_notes (
  project_id INTEGER NOT NULL,
  session_id UUID NOT NULL,
  note TEXT NOT NULL,
  revision INTEGER NOT NULL,
  updated_at TIMESTAMPTZ(3) NOT NULL,
  actor TEXT NOT NULL,
  actor_name TEXT,
  PRIMARY KEY (project_id, session_id)
);

CREATE TABLE session_views (
  project_id INTEGER NOT NULL,
  id UUID NOT NULL,
  name TEXT NOT NULL,
  query TEXT NOT NULL,
  is_default BOOLEAN NOT NULL DEFAULT false,
  created_at TIMESTAMPTZ(3) NOT NULL,
  PRIMARY KEY (project_id, id)
);
CREATE UNIQUE INDEX session_views_project_id_name_key ON session_views (project_id, name);
