-- Calls of each agent by tool and day. Empty where no source tells them, as for all agents until now.
ALTER TABLE agent_contents ADD COLUMN called BYTEA NOT NULL DEFAULT '';
ALTER TABLE agent_contents ALTER COLUMN called DROP DEFAULT;
ALTER TABLE agent_outcomes ADD COLUMN called BYTEA NOT NULL DEFAULT '';
ALTER TABLE agent_outcomes ALTER COLUMN called DROP DEFAULT;
