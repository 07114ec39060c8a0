-- Where sessions run: the machine, and the git remote and branch. Each is what the newest event that names it says, so its time is
-- kept with it.
ALTER TABLE sessions
  ADD COLUMN machine TEXT,
  ADD COLUMN machine_at TIMESTAMPTZ(3),
  ADD COLUMN repository TEXT,
  ADD COLUMN branch TEXT,
  ADD COLUMN repository_at TIMESTAMPTZ(3);

-- The lists of repositories and branches are read from the index alone.
CREATE INDEX sessions_repository_idx ON sessions (project_id, repository, branch) WHERE repository IS NOT NULL;
-- Finds the session that another machine reports under its own harness instance.
CREATE INDEX sessions_project_id_name_idx ON sessions (project_id, name);

CREATE TABLE machines (
  project_id INTEGER NOT NULL,
  name TEXT NOT NULL,
  first_received_at TIMESTAMPTZ(3) NOT NULL,
  last_received_at TIMESTAMPTZ(3) NOT NULL,
  PRIMARY KEY (project_id, name)
);

DO $$ BEGIN
  IF EXISTS (SELECT 1 FROM pg_extension WHERE extname = 'citus') THEN
    IF EXISTS (SELECT 1 FROM pg_dist_partition WHERE logicalrelid = 'sessions'::regclass) THEN
      PERFORM create_distributed_table('machines', 'project_id', colocate_with => 'sessions');
    END IF;
  END IF;
END $$;
