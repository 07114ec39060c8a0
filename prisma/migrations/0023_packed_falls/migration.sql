-- The falls of each agent in one row. Every agent with falls is counted again; until then its falls are read one by one.
ALTER TABLE agent_outcomes ADD COLUMN falls BYTEA DEFAULT '';
ALTER TABLE agent_outcomes ALTER COLUMN falls DROP DEFAULT;
UPDATE agents a SET uncounted = true WHERE EXISTS (
  SELECT 1 FROM boundaries b WHERE b.project_id = a.project_id AND b.agent_id = a.id AND b.fall IS NOT NULL);
