-- Everything the spine stores: who sends, sessions and their agents, turns, what explains a drop, and the
-- rollups a chart reads. Tables that grow lead with project_id, which is what Citus distributes by.

-- CreateTable
CREATE TABLE "projects" (
    "id" SERIAL NOT NULL,
    "name" TEXT NOT NULL,
    "created_at" TIMESTAMPTZ(3) NOT NULL,

    CONSTRAINT "projects_pkey" PRIMARY KEY ("id")
);

-- CreateTable
CREATE TABLE "api_keys" (
    "project_id" INTEGER NOT NULL,
    "id" UUID NOT NULL,
    "name" TEXT NOT NULL,
    "prefix" TEXT NOT NULL,
    "hash" BYTEA NOT NULL,
    "scopes" TEXT[],
    "created_at" TIMESTAMPTZ(3) NOT NULL,
    "last_used_at" TIMESTAMPTZ(3),
    "revoked_at" TIMESTAMPTZ(3),

    CONSTRAINT "api_keys_pkey" PRIMARY KEY ("project_id","id")
);

-- CreateTable
CREATE TABLE "browser_sessions" (
    "hash" BYTEA NOT NULL,
    "created_at" TIMESTAMPTZ(3) NOT NULL,
    "expires_at" TIMESTAMPTZ(3) NOT NULL,

    CONSTRAINT "browser_sessions_pkey" PRIMARY KEY ("hash")
);

-- CreateTable
CREATE TABLE "model_windows" (
    "project_id" INTEGER NOT NULL,
    "model" TEXT NOT NULL,
    "tokens" INTEGER NOT NULL,
    "updated_at" TIMESTAMPTZ(3) NOT NULL,

    CONSTRAINT "model_windows_pkey" PRIMARY KEY ("project_id","model")
);

-- CreateTable
CREATE TABLE "models" (
    "project_id" INTEGER NOT NULL,
    "id" INTEGER NOT NULL,
    "name" TEXT NOT NULL,

    CONSTRAINT "models_pkey" PRIMARY KEY ("project_id","id")
);

-- CreateTable
CREATE TABLE "harnesses" (
    "project_id" INTEGER NOT NULL,
    "id" UUID NOT NULL,
    "instance" TEXT NOT NULL,
    "name" TEXT,
    "version" TEXT,
    "capabilities" TEXT[],
    "status" TEXT NOT NULL,
    "status_at" TIMESTAMPTZ(3),
    "first_at" TIMESTAMPTZ(3) NOT NULL,
    "last_at" TIMESTAMPTZ(3) NOT NULL,
    "last_received_at" TIMESTAMPTZ(3) NOT NULL,

    CONSTRAINT "harnesses_pkey" PRIMARY KEY ("project_id","id")
);

-- CreateTable
CREATE TABLE "sessions" (
    "project_id" INTEGER NOT NULL,
    "id" UUID NOT NULL,
    "harness" TEXT NOT NULL,
    "name" TEXT NOT NULL,
    "kind" TEXT,
    "title" TEXT,
    "meta_at" TIMESTAMPTZ(3),
    "started_at" TIMESTAMPTZ(3),
    "ended_at" TIMESTAMPTZ(3),
    "end_reason" TEXT,
    "first_at" TIMESTAMPTZ(3) NOT NULL,
    "last_at" TIMESTAMPTZ(3) NOT NULL,
    "last_received_at" TIMESTAMPTZ(3) NOT NULL,
    "model" TEXT,
    "current_tokens" INTEGER,
    "current_window" INTEGER,
    "load" REAL,
    "peak_tokens" INTEGER,
    "peak_utilization" REAL,
    "turns" INTEGER NOT NULL DEFAULT 0,
    "agents" INTEGER NOT NULL DEFAULT 0,
    "windows" INTEGER NOT NULL DEFAULT 0,
    "masked" INTEGER NOT NULL DEFAULT 0,
    "compacted" INTEGER NOT NULL DEFAULT 0,
    "subticks" INTEGER NOT NULL DEFAULT 0,
    "restarts" INTEGER NOT NULL DEFAULT 0,
    "cleared" INTEGER NOT NULL DEFAULT 0,
    "unexplained" INTEGER NOT NULL DEFAULT 0,
    "reclaimed" BIGINT NOT NULL DEFAULT 0,
    "warnings" INTEGER NOT NULL DEFAULT 0,
    "last_slot" INTEGER NOT NULL DEFAULT 0,
    "seen_slot" INTEGER NOT NULL DEFAULT 0,
    "peak_bin" SMALLINT NOT NULL DEFAULT -1,

    CONSTRAINT "sessions_pkey" PRIMARY KEY ("project_id","id")
);

-- CreateTable
CREATE TABLE "agents" (
    "project_id" INTEGER NOT NULL,
    "id" UUID NOT NULL,
    "session_id" UUID NOT NULL,
    "name" TEXT NOT NULL,
    "parent" TEXT,
    "model" TEXT,
    "first_at" TIMESTAMPTZ(3) NOT NULL,
    "last_at" TIMESTAMPTZ(3) NOT NULL,
    "last_received_at" TIMESTAMPTZ(3) NOT NULL,
    "turns" INTEGER NOT NULL DEFAULT 0,
    "windows" INTEGER NOT NULL DEFAULT 0,
    "current_tokens" INTEGER,
    "current_window" INTEGER,
    "window_source" SMALLINT NOT NULL DEFAULT 0,
    "load" REAL,
    "peak_tokens" INTEGER,
    "peak_window" INTEGER,
    "peak_utilization" REAL,
    "peak_at" TIMESTAMPTZ(3),
    "masked" INTEGER NOT NULL DEFAULT 0,
    "compacted" INTEGER NOT NULL DEFAULT 0,
    "subticks" INTEGER NOT NULL DEFAULT 0,
    "restarts" INTEGER NOT NULL DEFAULT 0,
    "cleared" INTEGER NOT NULL DEFAULT 0,
    "unexplained" INTEGER NOT NULL DEFAULT 0,
    "reclaimed" BIGINT NOT NULL DEFAULT 0,
    "warnings" INTEGER NOT NULL DEFAULT 0,
    "state" JSON NOT NULL,

    CONSTRAINT "agents_pkey" PRIMARY KEY ("project_id","id")
);

-- CreateTable
CREATE TABLE "windows" (
    "project_id" INTEGER NOT NULL,
    "agent_id" UUID NOT NULL,
    "index" INTEGER NOT NULL,
    "first_at" TIMESTAMPTZ(3) NOT NULL,
    "last_at" TIMESTAMPTZ(3) NOT NULL,
    "turns" INTEGER NOT NULL,
    "first_tokens" INTEGER,
    "last_tokens" INTEGER,
    "peak_tokens" INTEGER,
    "peak_utilization" REAL,
    "window_tokens" INTEGER,

    CONSTRAINT "windows_pkey" PRIMARY KEY ("project_id","agent_id","index")
);

-- CreateTable
CREATE TABLE "turns" (
    "at" TIMESTAMPTZ(3) NOT NULL,
    "received_at" TIMESTAMPTZ(3) NOT NULL,
    "key" BIGINT NOT NULL,
    "project_id" INTEGER NOT NULL,
    "agent_id" UUID NOT NULL,
    "model_id" INTEGER NOT NULL,
    "window_index" INTEGER NOT NULL,
    "window_tokens" INTEGER,
    "context_tokens" INTEGER,
    "input_tokens" INTEGER,
    "cache_read" INTEGER,
    "cache_write" INTEGER,
    "output_tokens" INTEGER,
    "reasoning" INTEGER,
    "seq" INTEGER,
    "sent_window" INTEGER,
    "sent_limit" INTEGER,
    "duration_ms" INTEGER,
    "cost_micros" INTEGER,
    "purpose" SMALLINT NOT NULL,
    "facets" SMALLINT NOT NULL,
    "composition" INTEGER[],

    CONSTRAINT "turns_pkey" PRIMARY KEY ("project_id","agent_id","key")
);

-- CreateTable
CREATE TABLE "boundaries" (
    "project_id" INTEGER NOT NULL,
    "agent_id" UUID NOT NULL,
    "id" TEXT NOT NULL,
    "session_id" UUID,
    "type" TEXT NOT NULL,
    "origin" SMALLINT NOT NULL,
    "at" TIMESTAMPTZ(3) NOT NULL,
    "received_at" TIMESTAMPTZ(3) NOT NULL,
    "window_index" INTEGER NOT NULL,
    "sent_window" INTEGER,
    "tokens_before" INTEGER,
    "tokens_after" INTEGER,
    "detail" JSONB NOT NULL,

    CONSTRAINT "boundaries_pkey" PRIMARY KEY ("project_id","agent_id","id")
);

-- CreateTable
CREATE TABLE "crossings" (
    "project_id" INTEGER NOT NULL,
    "agent_id" UUID NOT NULL,
    "id" TEXT NOT NULL,
    "session_id" UUID NOT NULL,
    "threshold" TEXT NOT NULL,
    "up" BOOLEAN NOT NULL,
    "origin" SMALLINT NOT NULL,
    "at" TIMESTAMPTZ(3) NOT NULL,
    "turn_key" BIGINT,
    "threshold_tokens" INTEGER NOT NULL,
    "context_tokens" INTEGER NOT NULL,
    "window_tokens" INTEGER,

    CONSTRAINT "crossings_pkey" PRIMARY KEY ("project_id","agent_id","id")
);

-- CreateTable
CREATE TABLE "rollups" (
    "project_id" INTEGER NOT NULL,
    "grain" SMALLINT NOT NULL,
    "bucket" TIMESTAMPTZ(3) NOT NULL,
    "harness" TEXT NOT NULL,
    "model" TEXT NOT NULL,
    "turns" INTEGER NOT NULL,
    "missing" INTEGER NOT NULL,
    "fresh" BIGINT NOT NULL,
    "cache_read" BIGINT NOT NULL,
    "cache_write" BIGINT NOT NULL,
    "output" BIGINT NOT NULL,
    "cost_micros" BIGINT NOT NULL,
    "peak_tokens" INTEGER,
    "peak_utilization" REAL,
    "bins" INTEGER[],

    CONSTRAINT "rollups_pkey" PRIMARY KEY ("project_id","grain","bucket","harness","model")
);

-- CreateTable
CREATE TABLE "boundary_rollups" (
    "project_id" INTEGER NOT NULL,
    "grain" SMALLINT NOT NULL,
    "bucket" TIMESTAMPTZ(3) NOT NULL,
    "harness" TEXT NOT NULL,
    "type" TEXT NOT NULL,
    "count" INTEGER NOT NULL,
    "reclaimed" BIGINT NOT NULL,

    CONSTRAINT "boundary_rollups_pkey" PRIMARY KEY ("project_id","grain","bucket","harness","type")
);

-- CreateTable
CREATE TABLE "ingest_counts" (
    "project_id" INTEGER NOT NULL,
    "day" DATE NOT NULL,
    "outcome" TEXT NOT NULL,
    "count" BIGINT NOT NULL,

    CONSTRAINT "ingest_counts_pkey" PRIMARY KEY ("project_id","day","outcome")
);

-- CreateIndex
CREATE UNIQUE INDEX "projects_name_key" ON "projects"("name");

-- CreateIndex
CREATE UNIQUE INDEX "api_keys_hash_key" ON "api_keys"("hash");

-- CreateIndex
CREATE UNIQUE INDEX "models_project_id_name_key" ON "models"("project_id", "name");

-- CreateIndex
CREATE INDEX "sessions_project_id_last_slot_idx" ON "sessions"("project_id", "last_slot" DESC);

-- CreateIndex
CREATE INDEX "sessions_project_id_seen_slot_idx" ON "sessions"("project_id", "seen_slot" DESC);

-- CreateIndex
CREATE INDEX "sessions_project_id_peak_bin_idx" ON "sessions"("project_id", "peak_bin" DESC);

-- CreateIndex
CREATE INDEX "agents_project_id_session_id_idx" ON "agents"("project_id", "session_id");

-- CreateIndex
CREATE INDEX "crossings_project_id_threshold_up_at_session_id_idx" ON "crossings"("project_id", "threshold", "up", "at", "session_id");


-- Rows that change with every batch keep room on their page, so that their new versions stay beside them.
ALTER TABLE "sessions" SET (fillfactor = 70);
ALTER TABLE "agents" SET (fillfactor = 70);
ALTER TABLE "windows" SET (fillfactor = 80);
