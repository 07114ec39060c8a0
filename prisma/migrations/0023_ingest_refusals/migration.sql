-- Counts of refused events do not say which field is wrong or who sends it. One row for each fault of a harness keeps a
-- redacted example, so that Setup can show what to fix; a project keeps its 50 newest.
CREATE TABLE "ingest_refusals" (
    "project_id" INTEGER NOT NULL,
    "harness" TEXT NOT NULL,
    "type" TEXT NOT NULL,
    "code" TEXT NOT NULL,
    "path" TEXT NOT NULL,
    "message" TEXT NOT NULL,
    "example" TEXT NOT NULL,
    "count" BIGINT NOT NULL,
    "first_at" TIMESTAMPTZ(3) NOT NULL,
    "last_at" TIMESTAMPTZ(3) NOT NULL,

    CONSTRAINT "ingest_refusals_pkey" PRIMARY KEY ("project_id", "harness", "type", "code", "path")
);
