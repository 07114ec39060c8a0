-- Telemetry that no dialect knows can be read by a mapping that somebody wrote for it. Each project has its own.
CREATE TABLE "record_mappings" (
    "project_id" INTEGER NOT NULL,
    "name" TEXT NOT NULL,
    "body" JSONB NOT NULL,
    "updated_at" TIMESTAMPTZ(3) NOT NULL,
    CONSTRAINT "record_mappings_pkey" PRIMARY KEY ("project_id", "name")
);
