-- Keys that belong to a person end with the person. People who were invited sign in with a link that works once, or a passkey.
ALTER TABLE api_keys ADD COLUMN person_id UUID REFERENCES people (id) ON DELETE CASCADE;
CREATE INDEX api_keys_person_id_idx ON api_keys (person_id);

ALTER TABLE people
  ALTER COLUMN last_login_at DROP NOT NULL,
  ADD COLUMN link_hash BYTEA,
  ADD COLUMN link_expires_at TIMESTAMPTZ(3);
CREATE UNIQUE INDEX people_link_hash_key ON people (link_hash);

CREATE TABLE passkeys (
  id TEXT NOT NULL PRIMARY KEY,
  person_id UUID NOT NULL REFERENCES people (id) ON DELETE CASCADE,
  name TEXT NOT NULL,
  site TEXT NOT NULL,
  public_key BYTEA NOT NULL,
  counter BIGINT NOT NULL,
  transports TEXT[] NOT NULL,
  created_at TIMESTAMPTZ(3) NOT NULL,
  last_used_at TIMESTAMPTZ(3)
);
CREATE INDEX passkeys_person_id_idx ON passkeys (person_id);

-- Whose key sent the newest event. No reference: the rows may be on another machine than people.
ALTER TABLE sessions ADD COLUMN person_id UUID, ADD COLUMN person_at TIMESTAMPTZ(3);
ALTER TABLE harnesses ADD COLUMN person_id UUID;
ALTER TABLE projects ADD COLUMN hides_names BOOLEAN NOT NULL DEFAULT false;
