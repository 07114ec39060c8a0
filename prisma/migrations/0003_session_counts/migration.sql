-- The sessions of a range, those past their warning, and those still open are told from an index alone: their number
-- grows with the fleet's history, and reading each one's row made the first page slower with every month kept.

ALTER TABLE "sessions" ADD COLUMN "first_slot" INTEGER NOT NULL DEFAULT 0,
ADD COLUMN "warned" BOOLEAN NOT NULL DEFAULT false,
ADD COLUMN "open_slot" INTEGER NOT NULL DEFAULT -1;

UPDATE "sessions" SET "first_slot" = floor(extract(epoch FROM "first_at") / 300), "warned" = "warnings" > 0,
  "open_slot" = CASE WHEN "ended_at" >= "last_at" THEN -1 ELSE "seen_slot" END;

DROP INDEX "sessions_project_id_last_slot_idx";
DROP INDEX "sessions_project_id_seen_slot_idx";
ALTER TABLE "sessions" DROP COLUMN "seen_slot";
CREATE INDEX "sessions_project_id_last_slot_first_slot_warned_harness_idx" ON "sessions"("project_id", "last_slot" DESC, "first_slot", "warned", "harness");
CREATE INDEX "sessions_project_id_open_slot_idx" ON "sessions"("project_id", "open_slot" DESC);
CREATE INDEX "crossings_project_id_session_id_threshold_up_at_idx" ON "crossings"("project_id", "session_id", "threshold", "up", "at");
