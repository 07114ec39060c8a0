-- Sessions and harnesses can be deleted: a marked row is hidden at once, and removed once the time for undo is over. A project
-- can limit how long it keeps sessions and rollups.
ALTER TABLE "sessions" ADD COLUMN "deleted_at" TIMESTAMPTZ(3);
ALTER TABLE "harnesses" ADD COLUMN "deleted_at" TIMESTAMPTZ(3);
-- Partial: almost no row is marked, and the projector looks once a second.
CREATE INDEX "sessions_deleted_idx" ON "sessions" ("project_id", "deleted_at") WHERE "deleted_at" IS NOT NULL;
CREATE INDEX "harnesses_deleted_idx" ON "harnesses" ("project_id", "deleted_at") WHERE "deleted_at" IS NOT NULL;

ALTER TABLE "projects" ADD COLUMN "session_days" INTEGER, ADD COLUMN "rollup_days" INTEGER,
    ADD COLUMN "horizon" TIMESTAMPTZ(3);

-- What was removed and is still counted elsewhere: without it, no check could tell a deletion from a loss.
CREATE TABLE "removed_counts" (
    "project_id" INTEGER NOT NULL,
    "counted_in" TEXT NOT NULL,
    "what" TEXT NOT NULL,
    "count" BIGINT NOT NULL,

    CONSTRAINT "removed_counts_pkey" PRIMARY KEY ("project_id", "counted_in", "what")
);
