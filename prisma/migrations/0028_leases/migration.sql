-- A lease that ends at a date is wrong after the database's clock was set back. A holder counts beats instead, and another
-- process takes over after it saw no beat for the patience. Two servers that take a project from each other are recorded.
ALTER TABLE "projectors"
  ALTER COLUMN "holder" DROP NOT NULL,
  ADD COLUMN "beat" BIGINT NOT NULL DEFAULT 0,
  ADD COLUMN "patience_ms" INTEGER NOT NULL DEFAULT 3000,
  ADD COLUMN "renewed_at" TIMESTAMPTZ(3) NOT NULL DEFAULT now(),
  ADD COLUMN "changed_at" TIMESTAMPTZ(3),
  ADD COLUMN "contested_at" TIMESTAMPTZ(3),
  DROP COLUMN "expires_at";
ALTER TABLE "alert_evaluators"
  ALTER COLUMN "holder" DROP NOT NULL,
  ADD COLUMN "beat" BIGINT NOT NULL DEFAULT 0,
  ADD COLUMN "patience_ms" INTEGER NOT NULL DEFAULT 3000,
  ADD COLUMN "renewed_at" TIMESTAMPTZ(3) NOT NULL DEFAULT now(),
  ADD COLUMN "changed_at" TIMESTAMPTZ(3),
  ADD COLUMN "contested_at" TIMESTAMPTZ(3),
  ALTER COLUMN "watching_since" SET DEFAULT now(),
  ALTER COLUMN "samples" SET DEFAULT '[]',
  DROP COLUMN "expires_at";
-- For the same reason a delivery keeps when its next attempt was decided: it is due if that is in the future.
ALTER TABLE "alert_deliveries" ADD COLUMN "decided_at" TIMESTAMPTZ(3);
-- Every holder of before has ended.
UPDATE "projectors" SET "holder" = NULL;
UPDATE "alert_evaluators" SET "holder" = NULL;
