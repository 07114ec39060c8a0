-- The names that rollups of a day tell apart are bounded, because anybody with an ingest key can make up names. All pairs
-- that rollups have now are kept, so that corrections of old days find the rows that they correct.
CREATE TABLE "rollup_names" (
    "project_id" INTEGER NOT NULL,
    "day" TIMESTAMPTZ(3) NOT NULL,
    "harness" TEXT NOT NULL,
    "model" TEXT NOT NULL,
    "before_limit" BOOLEAN NOT NULL DEFAULT false,

    CONSTRAINT "rollup_names_pkey" PRIMARY KEY ("project_id", "day", "harness", "model")
);

DO $$ BEGIN
  -- On Citus, the names go where the rollups are.
  IF EXISTS (SELECT 1 FROM pg_extension WHERE extname = 'citus') THEN
    IF EXISTS (SELECT 1 FROM pg_dist_partition WHERE logicalrelid = 'rollups'::regclass) THEN
      PERFORM create_distributed_table('rollup_names', 'project_id', colocate_with => 'rollups');
    END IF;
  END IF;
END $$;

-- Six-hour buckets have every name, and each lies in one day.
INSERT INTO "rollup_names" ("project_id", "day", "harness", "model", "before_limit")
SELECT DISTINCT "project_id", date_trunc('day', "bucket", 'UTC'), "harness", "model", true
FROM "rollups" WHERE "grain" = 360 AND "harness" <> '';
INSERT INTO "rollup_names" ("project_id", "day", "harness", "model", "before_limit")
SELECT DISTINCT "project_id", date_trunc('day', "bucket", 'UTC'), "harness", '', true
FROM "boundary_rollups" WHERE "grain" = 360 AND "harness" <> '';

ALTER TABLE "models" ADD COLUMN "added_at" TIMESTAMPTZ(3) NOT NULL DEFAULT to_timestamp(0);
ALTER TABLE "models" ALTER COLUMN "added_at" DROP DEFAULT;
ALTER TABLE "harnesses" ADD COLUMN "added_at" TIMESTAMPTZ(3) NOT NULL DEFAULT to_timestamp(0);
ALTER TABLE "harnesses" ALTER COLUMN "added_at" DROP DEFAULT;
