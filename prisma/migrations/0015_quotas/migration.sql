-- How much of each limit of an account is used, a row for each whole percent that was reported in its newest window.
CREATE TABLE quota_percents (
  project_id INTEGER NOT NULL,
  owner_kind TEXT NOT NULL,
  owner TEXT NOT NULL,
  provider TEXT NOT NULL,
  name TEXT NOT NULL,
  window_minutes INTEGER NOT NULL,
  resets_at TIMESTAMPTZ(3) NOT NULL,
  used_percent SMALLINT NOT NULL,
  first_received_at TIMESTAMPTZ(3) NOT NULL,
  last_at TIMESTAMPTZ(3) NOT NULL,
  last_received_at TIMESTAMPTZ(3) NOT NULL,
  PRIMARY KEY (project_id, owner_kind, owner, provider, name, window_minutes, resets_at, used_percent)
);

DO $$ BEGIN
  IF EXISTS (SELECT 1 FROM pg_extension WHERE extname = 'citus') THEN
    IF EXISTS (SELECT 1 FROM pg_dist_partition WHERE logicalrelid = 'sessions'::regclass) THEN
      PERFORM create_distributed_table('quota_percents', 'project_id', colocate_with => 'sessions');
    END IF;
  END IF;
END $$;
