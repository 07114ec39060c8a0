-- The Session page lists the alerts of one session, and reads them again with every change.
CREATE INDEX "alerts_project_id_session_id_fired_at_id_idx"
    ON "alerts" ("project_id", "session_id", "fired_at" DESC, "id" DESC);
