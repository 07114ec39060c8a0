-- What the turns of an agent and of a session read and cost, so that sessions can be sorted by it.
ALTER TABLE agents
  ADD COLUMN prompt_tokens BIGINT NOT NULL DEFAULT 0,
  ADD COLUMN cached_tokens BIGINT NOT NULL DEFAULT 0,
  ADD COLUMN estimated_tokens BIGINT NOT NULL DEFAULT 0,
  ADD COLUMN cost_micros BIGINT NOT NULL DEFAULT 0,
  ADD COLUMN cost_turns INTEGER NOT NULL DEFAULT 0;

ALTER TABLE sessions
  ADD COLUMN prompt_tokens BIGINT NOT NULL DEFAULT 0,
  ADD COLUMN cached_tokens BIGINT NOT NULL DEFAULT 0,
  ADD COLUMN estimated_tokens BIGINT NOT NULL DEFAULT 0,
  ADD COLUMN cost_micros BIGINT NOT NULL DEFAULT 0,
  ADD COLUMN cost_turns INTEGER NOT NULL DEFAULT 0;

INSERT INTO refolds (project_id, agent_id, reason) SELECT project_id, id, 'upgrade' FROM agents WHERE turns > 0
ON CONFLICT DO NOTHING;
