-- Everything the spine stores: who sends, sessions and their agents, turns, what explains a drop, and the
-- rollups a chart reads. Tables that grow lead with project_id, which is what Citus distributes by.

