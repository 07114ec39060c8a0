-- Codex and opencode run a sub-agent as a session of its own. Their recordings name the parent, their telemetry knows only that
-- session. The column has the id of that session, so that both report one agent.
ALTER TABLE "agents" ADD COLUMN "own_session" UUID;
-- Leads from the session to the agent. Partial: few agents have one.
CREATE INDEX "agents_own_session_idx" ON "agents" ("project_id", "own_session") WHERE "own_session" IS NOT NULL;
