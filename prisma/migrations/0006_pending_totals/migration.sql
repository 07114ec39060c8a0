-- What a transaction of events adds to rollups, harnesses and counts waits here, one row, until it is added for many
-- transactions together: each adding its own was the most expensive thing it did, and writers waited for each other there.

CREATE TABLE "pending_totals" (
    "project_id" INTEGER NOT NULL,
    "id" BIGSERIAL NOT NULL,
    "delta" JSON NOT NULL,

    CONSTRAINT "pending_totals_pkey" PRIMARY KEY ("project_id","id")
);

-- It is read once, a moment later: compressing it would be the dearer part.
ALTER TABLE "pending_totals" ALTER COLUMN "delta" SET STORAGE EXTERNAL;
