-- The falls of each agent in one row. Every agent with falls is counted again; until then its falls are read one by one.
ALTER TABLE agent_outcomes ADD COLUMN falls BYTEA DEFAULT '';
ALTER TABLE agent_outcomes ALTER COLUMN falls DROP DEFAULT;
UPDATE agents a SET uncounted = true WHERE EXISTS (
  SELECT 1 FROM boundaries b WHERE b.project_id = a.project_id AND b.agent_id = a.id AND b.fall IS NOT NULL);
-- A server of an earlier version may count an agent meanwhile, and leaves this NULL.
UPDATE agent_outcomes o SET falls = NULL FROM agents a
WHERE a.project_id = o.project_id AND a.number = o.agent AND a.uncounted;
