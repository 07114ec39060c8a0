-- Keys expire and are replaced by a successor, people see and end the sessions of their browsers, and an audit log says who
-- changed what.
ALTER TABLE "api_keys" ADD COLUMN "expires_at" TIMESTAMPTZ(3), ADD COLUMN "replaced_by" UUID;

-- A browser that is signed in already gets an id, and counts as last seen when it logged in.
ALTER TABLE "browser_sessions"
    ADD COLUMN "id" UUID NOT NULL DEFAULT gen_random_uuid(),
    ADD COLUMN "last_seen_at" TIMESTAMPTZ(3),
    ADD COLUMN "address" TEXT,
    ADD COLUMN "browser" TEXT;
UPDATE "browser_sessions" SET "last_seen_at" = "created_at";
ALTER TABLE "browser_sessions" ALTER COLUMN "last_seen_at" SET NOT NULL, ALTER COLUMN "id" DROP DEFAULT;
CREATE UNIQUE INDEX "browser_sessions_id_key" ON "browser_sessions"("id");

CREATE TABLE "audit_entries" (
    "id" UUID NOT NULL,
    "at" TIMESTAMPTZ(3) NOT NULL,
    "action" TEXT NOT NULL,
    "actor" TEXT NOT NULL,
    "actor_id" TEXT,
    "actor_name" TEXT,
    "address" TEXT,
    "project" INTEGER,
    "target" TEXT,
    "detail" TEXT,
    "count" INTEGER NOT NULL DEFAULT 1,

    CONSTRAINT "audit_entries_pkey" PRIMARY KEY ("id")
);
CREATE INDEX "audit_entries_at_id_idx" ON "audit_entries"("at", "id");
CREATE INDEX "audit_entries_project_at_id_idx" ON "audit_entries"("project", "at", "id");
