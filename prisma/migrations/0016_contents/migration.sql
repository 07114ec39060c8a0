-- What the window of each agent holds at its latest turn that tells it: by kind and tool, and the largest things.
CREATE TABLE agent_contents (
  project_id INTEGER NOT NULL,
  agent_id UUID NOT NULL,
  at TIMESTAMPTZ(3) NOT NULL,
  tokens INTEGER NOT NULL,
  contents TEXT NOT NULL,
  PRIMARY KEY (project_id, agent_id)
);
CREATE INDEX agent_contents_project_id_at_idx ON agent_contents (project_id, at);
