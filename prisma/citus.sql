-- Distributes the tables that grow over a Citus cluster: every table with a project_id, except the keys. Run it on the coordinator,
-- after the first start has migrated the database and before there is much in it:
--   psql "$DATABASE_URL" -v ON_ERROR_STOP=1 -f prisma/citus.sql
-- It may be run again. Later migrations distribute the tables that they add.
-- Every primary key starts with project_id and every statement names the project, so each statement reaches one shard.
-- Projects, keys, browser sessions and the audit log are small and stay on the coordinator.
CREATE EXTENSION IF NOT EXISTS citus;

DO $$
DECLARE
  name TEXT;
BEGIN
  FOR name IN
    SELECT t.table_name FROM information_schema.tables t JOIN information_schema.columns c USING (table_schema, table_name)
    WHERE t.table_schema = current_schema() AND t.table_type = 'BASE TABLE' AND c.column_name = 'project_id'
      AND t.table_name <> 'api_keys'
    -- The others are placed with it.
    ORDER BY t.table_name <> 'sessions', t.table_name
  LOOP
    IF NOT EXISTS (SELECT 1 FROM pg_dist_partition WHERE logicalrelid = name::regclass) THEN
      PERFORM create_distributed_table(name::regclass, 'project_id',
        colocate_with => CASE WHEN name = 'sessions' THEN 'default' ELSE 'sessions' END);
    END IF;
  END LOOP;
END $$;
