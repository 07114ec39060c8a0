-- A stage of a rollout lasts for the time in which its harnesses could apply the version, and is passed by its own harnesses only.
ALTER TABLE policy_rollouts
  ADD COLUMN baked_ms INTEGER NOT NULL DEFAULT 0,
  ADD COLUMN counted_at TIMESTAMPTZ(3),
  ADD COLUMN beat INTEGER NOT NULL DEFAULT 0,
  ADD COLUMN revision INTEGER NOT NULL DEFAULT 0,
  ADD COLUMN passed_revision INTEGER,
  DROP COLUMN canary;
