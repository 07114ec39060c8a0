-- An agent is live by the time of its events, and clocks of harnesses may be wrong. When the first event was received tells
-- events sent as they happen, by a wrong clock, from history that is sent at once.
ALTER TABLE "agents" ADD COLUMN "first_received_at" TIMESTAMPTZ(3);
ALTER TABLE "sessions" ADD COLUMN "first_received_at" TIMESTAMPTZ(3);
