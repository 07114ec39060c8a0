-- A key with the scope self answers agents of one harness about themselves.
ALTER TABLE api_keys ADD COLUMN harness TEXT;
