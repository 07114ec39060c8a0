-- The catalog is always late, so a project learns the window sizes that its harnesses report for their models.
CREATE TABLE observed_windows (
  project_id INTEGER NOT NULL,
  harness TEXT NOT NULL,
  model TEXT NOT NULL,
  sizes JSONB NOT NULL,
  asked BOOLEAN NOT NULL,
  PRIMARY KEY (project_id, harness, model)
);

DO $$ BEGIN
  IF EXISTS (SELECT 1 FROM pg_extension WHERE extname = 'citus') THEN
    IF EXISTS (SELECT 1 FROM pg_dist_partition WHERE logicalrelid = 'sessions'::regclass) THEN
      PERFORM create_distributed_table('observed_windows', 'project_id', colocate_with => 'sessions');
    END IF;
  END IF;
END $$;
