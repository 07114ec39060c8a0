-- Login links, sign-ins that were ended, and codes of machines, which were in the memory of one server.
CREATE TABLE login_links (
  hash BYTEA NOT NULL PRIMARY KEY,
  expires_at TIMESTAMPTZ(3) NOT NULL
);

CREATE TABLE ended_sign_ins (
  hash BYTEA NOT NULL PRIMARY KEY,
  forget_at TIMESTAMPTZ(3) NOT NULL
);
CREATE INDEX ended_sign_ins_forget_at_idx ON ended_sign_ins (forget_at);

CREATE TABLE machine_logins (
  device_hash BYTEA NOT NULL PRIMARY KEY,
  code_hash BYTEA NOT NULL,
  machine TEXT NOT NULL,
  address TEXT NOT NULL,
  asked_at TIMESTAMPTZ(3) NOT NULL,
  polled_at TIMESTAMPTZ(3),
  poll_seconds INTEGER NOT NULL,
  state TEXT NOT NULL,
  approval JSONB,
  person_id UUID REFERENCES people (id) ON DELETE CASCADE
);
CREATE UNIQUE INDEX machine_logins_code_hash_key ON machine_logins (code_hash);
CREATE INDEX machine_logins_person_id_idx ON machine_logins (person_id);
