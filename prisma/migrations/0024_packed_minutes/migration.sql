-- Minutes make most of the rollups where turns are rare: those of an hour that is two days old take one row, a value a minute in each array.
CREATE TABLE packed_minutes (
  project_id INTEGER NOT NULL,
  harness TEXT NOT NULL,
  bucket TIMESTAMPTZ(3) NOT NULL,
  model TEXT NOT NULL,
  minutes SMALLINT[] NOT NULL,
  turns INTEGER[] NOT NULL,
  missing INTEGER[] NOT NULL,
  fresh BIGINT[] NOT NULL,
  cache_read BIGINT[] NOT NULL,
  cache_write BIGINT[] NOT NULL,
  output BIGINT[] NOT NULL,
  cost_micros BIGINT[] NOT NULL,
  estimated_cost_micros BIGINT[] NOT NULL,
  unpriced_turns INTEGER[] NOT NULL,
  peak_tokens INTEGER[] NOT NULL,
  peak_utilization REAL[] NOT NULL,
  bins TEXT[] NOT NULL,
  PRIMARY KEY (project_id, harness, bucket, model)
) WITH (toast_tuple_target = 128);
-- Compressed, however short the row is, and kept in it.
DO $$
DECLARE
  name TEXT;
BEGIN
  FOR name IN
    SELECT attname FROM pg_attribute WHERE attrelid = 'packed_minutes'::regclass AND attnum > 4 AND NOT attisdropped
  LOOP
    EXECUTE format('ALTER TABLE packed_minutes ALTER COLUMN %I SET STORAGE MAIN', name);
  END LOOP;
  IF EXISTS (SELECT 1 FROM pg_extension WHERE extname = 'citus') THEN
    IF EXISTS (SELECT 1 FROM pg_dist_partition WHERE logicalrelid = 'sessions'::regclass) THEN
      PERFORM create_distributed_table('packed_minutes', 'project_id', colocate_with => 'sessions');
    END IF;
  END IF;
END $$;
