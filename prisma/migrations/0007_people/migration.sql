-- People who sign in with an identity provider, and their roles. Few and needed with each request, so they stay on the
-- coordinator of a Citus cluster: `project`, not `project_id`, as in the audit log.
CREATE TABLE people (
  id UUID NOT NULL PRIMARY KEY,
  issuer TEXT NOT NULL,
  subject TEXT NOT NULL,
  name TEXT NOT NULL,
  email TEXT,
  everywhere TEXT,
  created_at TIMESTAMPTZ(3) NOT NULL,
  last_login_at TIMESTAMPTZ(3) NOT NULL
);
CREATE UNIQUE INDEX people_issuer_subject_key ON people (issuer, subject);

CREATE TABLE project_roles (
  person_id UUID NOT NULL REFERENCES people (id) ON DELETE CASCADE,
  project INTEGER NOT NULL,
  role TEXT NOT NULL,
  PRIMARY KEY (person_id, project)
);

ALTER TABLE browser_sessions
  ADD COLUMN person_id UUID REFERENCES people (id) ON DELETE CASCADE,
  ADD COLUMN renewal BYTEA,
  ADD COLUMN renewed_at TIMESTAMPTZ(3);
CREATE INDEX browser_sessions_person_id_idx ON browser_sessions (person_id);
