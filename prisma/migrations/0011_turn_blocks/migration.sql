-- Up to 256 turns of an agent are packed into one row: 27 bytes a turn instead of 160. PostgreSQL cannot pack, so the
-- server does it after the migrations (server/db/pack-turns.ts) and then drops turns_to_pack.
CREATE TABLE "turn_blocks" (
    "project_id" INTEGER NOT NULL,
    "agent" INTEGER NOT NULL,
    "first_at" TIMESTAMPTZ(3) NOT NULL,
    "first_key" BIGINT NOT NULL,
    "last_at" TIMESTAMPTZ(3) NOT NULL,
    "turns" INTEGER NOT NULL,
    "keys" BYTEA NOT NULL,
    "data" BYTEA NOT NULL,

    CONSTRAINT "turn_blocks_pkey" PRIMARY KEY ("project_id", "agent", "first_at", "first_key")
);
-- Packed turns do not compress.
ALTER TABLE "turn_blocks" ALTER COLUMN "keys" SET STORAGE EXTERNAL, ALTER COLUMN "data" SET STORAGE EXTERNAL;

DO $$ BEGIN
  -- On Citus, the blocks go where the turns are.
  IF EXISTS (SELECT 1 FROM pg_extension WHERE extname = 'citus') THEN
    IF EXISTS (SELECT 1 FROM pg_dist_partition WHERE logicalrelid = 'turns'::regclass) THEN
      PERFORM create_distributed_table('turn_blocks', 'project_id', colocate_with => 'turns');
    END IF;
  END IF;
  IF EXISTS (SELECT 1 FROM "turns") THEN
    ALTER TABLE "turns" RENAME TO "turns_to_pack";
  ELSE
    DROP TABLE "turns";
  END IF;
END $$;
