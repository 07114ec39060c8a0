-- What calls cost at list prices where their harness reports no cost, how many have neither, and what a project wants to spend a day.
ALTER TABLE agents
  ADD COLUMN estimated_cost_micros BIGINT NOT NULL DEFAULT 0,
  ADD COLUMN estimated_cost_turns INTEGER NOT NULL DEFAULT 0;

ALTER TABLE sessions
  ADD COLUMN estimated_cost_micros BIGINT NOT NULL DEFAULT 0,
  ADD COLUMN estimated_cost_turns INTEGER NOT NULL DEFAULT 0;

-- Rollups of earlier turns stay without an estimate: they know no length of prompts, which prices depend on.
ALTER TABLE rollups
  ADD COLUMN estimated_cost_micros BIGINT NOT NULL DEFAULT 0,
  ADD COLUMN unpriced_turns INTEGER NOT NULL DEFAULT 0;

ALTER TABLE projects ADD COLUMN daily_budget_usd DOUBLE PRECISION;

INSERT INTO refolds (project_id, agent_id, reason) SELECT project_id, id, 'upgrade' FROM agents WHERE turns > 0
ON CONFLICT DO NOTHING;
