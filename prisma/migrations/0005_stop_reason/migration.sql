-- Tells a harness that hangs in a tool from one that waits for its person: why the latest call of an agent ended, and when.
ALTER TABLE agents ADD COLUMN stopped_at TIMESTAMPTZ(3), ADD COLUMN stop_reason SMALLINT;
