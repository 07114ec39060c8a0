-- The latest boundary of a type is found at once. An agent that masks or restarts for days has thousands, and each look at
-- the fleet read all of them to tell which tick, session or phase the agent is in.

CREATE INDEX "boundaries_project_id_agent_id_type_at_idx" ON "boundaries"("project_id", "agent_id", "type", "at");
