-- What is known of a fall with the first level after it: how long the window before it lasted, when it was full again, what the first
-- prompt read from a cache, and the calls that wrote the summary. Falls from before this migration have nothing.
ALTER TABLE boundaries ADD COLUMN fall JSONB;
CREATE INDEX boundaries_fall_idx ON boundaries (project_id, at DESC) WHERE fall IS NOT NULL;
