-- OpenTelemetry has many dialects, and a sender whose records are not understood looks like one that sends nothing. One row
-- for each source and reason keeps a count and the names of attributes, never their values; a project keeps its 50 newest.
CREATE TABLE "unmapped_telemetry" (
    "project_id" INTEGER NOT NULL,
    "signal" TEXT NOT NULL,
    "service" TEXT NOT NULL,
    "scope" TEXT NOT NULL,
    "name" TEXT NOT NULL,
    "reason" TEXT NOT NULL,
    "dialect" TEXT NOT NULL,
    "attributes" TEXT[],
    "count" BIGINT NOT NULL,
    "first_at" TIMESTAMPTZ(3) NOT NULL,
    "last_at" TIMESTAMPTZ(3) NOT NULL,

    CONSTRAINT "unmapped_telemetry_pkey" PRIMARY KEY ("project_id", "signal", "service", "scope", "name", "reason")
);
