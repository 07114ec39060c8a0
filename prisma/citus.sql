-- Distributes the tables that grow over a Citus cluster. Run it once on the coordinator, after the first start has migrated
-- the database and before there is much in it:
--   psql "$DATABASE_URL" -f prisma/citus.sql
-- Every primary key starts with project_id and every statement names the project, so each statement reaches one shard.
-- Projects, keys, browser sessions and the audit log are small and stay on the coordinator.
CREATE EXTENSION IF NOT EXISTS citus;

SELECT create_distributed_table('sessions', 'project_id');
SELECT create_distributed_table('session_tags', 'project_id', colocate_with => 'sessions');
SELECT create_distributed_table('session_notes', 'project_id', colocate_with => 'sessions');
SELECT create_distributed_table('session_views', 'project_id', colocate_with => 'sessions');
SELECT create_distributed_table('agents', 'project_id', colocate_with => 'sessions');
SELECT create_distributed_table('turn_blocks', 'project_id', colocate_with => 'sessions');
SELECT create_distributed_table('segments', 'project_id', colocate_with => 'sessions');
SELECT create_distributed_table('windows', 'project_id', colocate_with => 'sessions');
SELECT create_distributed_table('boundaries', 'project_id', colocate_with => 'sessions');
SELECT create_distributed_table('crossings', 'project_id', colocate_with => 'sessions');
SELECT create_distributed_table('harnesses', 'project_id', colocate_with => 'sessions');
SELECT create_distributed_table('models', 'project_id', colocate_with => 'sessions');
SELECT create_distributed_table('model_windows', 'project_id', colocate_with => 'sessions');
SELECT create_distributed_table('rollups', 'project_id', colocate_with => 'sessions');
SELECT create_distributed_table('boundary_rollups', 'project_id', colocate_with => 'sessions');
SELECT create_distributed_table('rollup_names', 'project_id', colocate_with => 'sessions');
SELECT create_distributed_table('ingest_counts', 'project_id', colocate_with => 'sessions');
SELECT create_distributed_table('removed_counts', 'project_id', colocate_with => 'sessions');
SELECT create_distributed_table('ingest_refusals', 'project_id', colocate_with => 'sessions');
SELECT create_distributed_table('unmapped_telemetry', 'project_id', colocate_with => 'sessions');
SELECT create_distributed_table('record_mappings', 'project_id', colocate_with => 'sessions');
SELECT create_distributed_table('journal', 'project_id', colocate_with => 'sessions');
SELECT create_distributed_table('projectors', 'project_id', colocate_with => 'sessions');
SELECT create_distributed_table('refolds', 'project_id', colocate_with => 'sessions');
SELECT create_distributed_table('rejected_events', 'project_id', colocate_with => 'sessions');
SELECT create_distributed_table('policy_versions', 'project_id', colocate_with => 'sessions');
SELECT create_distributed_table('policy_steps', 'project_id', colocate_with => 'sessions');
SELECT create_distributed_table('policy_rollouts', 'project_id', colocate_with => 'sessions');
SELECT create_distributed_table('alert_rules', 'project_id', colocate_with => 'sessions');
SELECT create_distributed_table('alerts', 'project_id', colocate_with => 'sessions');
SELECT create_distributed_table('alert_groups', 'project_id', colocate_with => 'sessions');
SELECT create_distributed_table('alert_silences', 'project_id', colocate_with => 'sessions');
SELECT create_distributed_table('alert_signals', 'project_id', colocate_with => 'sessions');
SELECT create_distributed_table('alert_evaluators', 'project_id', colocate_with => 'sessions');
SELECT create_distributed_table('alert_endpoints', 'project_id', colocate_with => 'sessions');
SELECT create_distributed_table('alert_deliveries', 'project_id', colocate_with => 'sessions');
SELECT create_distributed_table('alert_attempts', 'project_id', colocate_with => 'sessions');
