-- Migrations since 0020 added tables of projects without distributing them, so a Citus cluster that is older than they are kept
-- them on the coordinator, where no statement can join them with the other tables.
DO $$
DECLARE
  name TEXT;
BEGIN
  IF EXISTS (SELECT 1 FROM pg_extension WHERE extname = 'citus') THEN
    IF EXISTS (SELECT 1 FROM pg_dist_partition WHERE logicalrelid = 'sessions'::regclass) THEN
      FOREACH name IN ARRAY ARRAY['session_tags', 'session_notes', 'session_views', 'removed_counts', 'ingest_refusals',
        'unmapped_telemetry', 'record_mappings']
      LOOP
        IF NOT EXISTS (SELECT 1 FROM pg_dist_partition WHERE logicalrelid = name::regclass) THEN
          PERFORM create_distributed_table(name::regclass, 'project_id', colocate_with => 'sessions');
        END IF;
      END LOOP;
    END IF;
  END IF;
END $$;
