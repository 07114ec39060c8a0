-- What came of tool calls is counted by narrower places in an agent's history, and with requests that were sent again. Every agent that was
-- counted is counted again.
UPDATE agents a SET uncounted = true FROM agent_outcomes o WHERE o.project_id = a.project_id AND o.agent = a.number;
DELETE FROM agent_outcomes;
