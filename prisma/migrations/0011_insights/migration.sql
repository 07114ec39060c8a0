-- Counts that explain what a window and its falls cost, such as caches that were rebuilt. Rows exist only where something was counted.
CREATE TABLE insight_rollups (
  project_id INTEGER NOT NULL,
  grain SMALLINT NOT NULL,
  bucket TIMESTAMPTZ(3) NOT NULL,
  harness TEXT NOT NULL,
  model TEXT NOT NULL,
  what TEXT NOT NULL,
  count INTEGER NOT NULL,
  tokens BIGINT NOT NULL,
  PRIMARY KEY (project_id, grain, bucket, harness, model, what)
);
