-- People tag sessions, write notes on them, and save filters of the session list as views. The rows are in tables of
-- their own, because the projector rewrites the rows of sessions.
CREATE TABLE "session_tags" (
    "project_id" INTEGER NOT NULL,
    "session_id" UUID NOT NULL,
    "tag" TEXT NOT NULL,
    CONSTRAINT "session_tags_pkey" PRIMARY KEY ("project_id", "session_id", "tag")
);
CREATE INDEX "session_tags_project_id_tag_session_id_idx" ON "session_tags" ("project_id", "tag", "session_id");

CREATE TABLE "session_notes" (
    "project_id" INTEGER NOT NULL,
    "session_id" UUID NOT NULL,
    "note" TEXT NOT NULL,
    "revision" INTEGER NOT NULL,
    "updated_at" TIMESTAMPTZ(3) NOT NULL,
    "actor" TEXT NOT NULL,
    "actor_name" TEXT,
    CONSTRAINT "session_notes_pkey" PRIMARY KEY ("project_id", "session_id")
);

CREATE TABLE "session_views" (
    "project_id" INTEGER NOT NULL,
    "id" UUID NOT NULL,
    "name" TEXT NOT NULL,
    "query" TEXT NOT NULL,
    "is_default" BOOLEAN NOT NULL DEFAULT false,
    "created_at" TIMESTAMPTZ(3) NOT NULL,
    CONSTRAINT "session_views_pkey" PRIMARY KEY ("project_id", "id")
);
CREATE UNIQUE INDEX "session_views_project_id_name_key" ON "session_views" ("project_id", "name");
