-- How often calls repeat an earlier one around the falls of an agent, and where nothing fell. Every agent with outcomes is counted again.
ALTER TABLE agent_outcomes ADD COLUMN work BYTEA NOT NULL DEFAULT '\x01';
ALTER TABLE agent_outcomes ALTER COLUMN work DROP DEFAULT;
UPDATE agents a SET uncounted = true FROM agent_outcomes o
WHERE o.project_id = a.project_id AND o.agent = a.number AND length(o.cells) > 1;
