import type { BackupManifest } from "@plimsoll/protocol/backup";

/** Whether the last version before 0.1.0 made the backup. Its rows can be restored; delete this file once nobody has such a home. */
export const isUnreleased = ({ migrations }: Pick<BackupManifest, "migrations">): boolean =>
  migrations.at(-1) === "0031_citus_tables";

/** SQL that lets the tables take rows of such a backup. */
export const TAKE_UNRELEASED = `
ALTER TABLE rollup_names ADD COLUMN before_limit boolean;
ALTER TABLE agents ALTER COLUMN first_received_at DROP NOT NULL;
ALTER TABLE sessions ALTER COLUMN first_received_at DROP NOT NULL`;

/** SQL that restores the tables. Every agent is folded again, because the states of some days have another form. */
export const CONVERT_UNRELEASED = `
ALTER TABLE rollup_names DROP COLUMN before_limit;
UPDATE agents SET first_received_at = last_received_at WHERE first_received_at IS NULL;
UPDATE sessions SET first_received_at = last_received_at WHERE first_received_at IS NULL;
ALTER TABLE agents ALTER COLUMN first_received_at SET NOT NULL;
ALTER TABLE sessions ALTER COLUMN first_received_at SET NOT NULL;
INSERT INTO refolds (project_id, agent_id, reason) SELECT project_id, id, 'upgrade' FROM agents WHERE turns > 0
ON CONFLICT DO NOTHING`;
