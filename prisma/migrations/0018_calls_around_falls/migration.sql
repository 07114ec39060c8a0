-- How often calls go wrong around the falls of an agent, with rules put back and without. Every agent with outcomes is counted again.
ALTER TABLE agent_outcomes ADD COLUMN wrong BYTEA NOT NULL DEFAULT '\x02';
ALTER TABLE agent_outcomes ALTER COLUMN wrong DROP DEFAULT;
UPDATE agents a SET uncounted = true FROM agent_outcomes o
WHERE o.project_id = a.project_id AND o.agent = a.number AND length(o.cells) > 1;
