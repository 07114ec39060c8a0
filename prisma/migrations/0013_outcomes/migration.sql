-- What came of the tool calls of each agent, by level, share of the line and place in its history; counted again some time after it changed.
CREATE TABLE agent_outcomes (
  project_id INTEGER NOT NULL,
  agent INTEGER NOT NULL,
  last_at TIMESTAMPTZ(3) NOT NULL,
  counted_at TIMESTAMPTZ(3) NOT NULL,
  cells BYTEA NOT NULL,
  PRIMARY KEY (project_id, agent)
);
CREATE INDEX agent_outcomes_project_id_last_at_idx ON agent_outcomes (project_id, last_at);
-- Agents from before this migration reported no outcomes.
ALTER TABLE agents ADD COLUMN uncounted BOOLEAN NOT NULL DEFAULT false;
CREATE INDEX agents_uncounted_idx ON agents (project_id, number) WHERE uncounted;
