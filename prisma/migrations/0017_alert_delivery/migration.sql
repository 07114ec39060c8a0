-- Endpoints receive notifications. Each delivery waits in alert_deliveries until an endpoint has taken it; the evaluator adds it in the
-- transaction that changes the alert. What each attempt sent and got back is in alert_attempts.
CREATE TABLE "alert_endpoints" (
    "project_id" INTEGER NOT NULL,
    "id" UUID NOT NULL,
    "name" TEXT NOT NULL,
    "kind" TEXT NOT NULL,
    "address" TEXT NOT NULL,
    "version" INTEGER NOT NULL,
    "sealed" BYTEA NOT NULL,
    "key_id" TEXT NOT NULL,
    "previous_secret_until" TIMESTAMPTZ(3),
    "pause_reason" TEXT,
    "paused_at" TIMESTAMPTZ(3),
    "failing_since" TIMESTAMPTZ(3),
    "last_at" TIMESTAMPTZ(3),
    "last_outcome" TEXT,
    "last_status" INTEGER,
    "created_at" TIMESTAMPTZ(3) NOT NULL,
    "updated_at" TIMESTAMPTZ(3) NOT NULL,

    CONSTRAINT "alert_endpoints_pkey" PRIMARY KEY ("project_id", "id")
);
CREATE UNIQUE INDEX "alert_endpoints_project_id_name_key" ON "alert_endpoints" ("project_id", "name");

CREATE TABLE "alert_deliveries" (
    "project_id" INTEGER NOT NULL,
    "endpoint_id" UUID NOT NULL,
    "id" TEXT NOT NULL,
    -- Deliveries of one endpoint and group leave in this order.
    "serial" BIGSERIAL NOT NULL,
    "group_key" TEXT NOT NULL,
    "kind" TEXT NOT NULL,
    "title" TEXT NOT NULL,
    "body" JSONB NOT NULL,
    "state" TEXT NOT NULL,
    "attempts" INTEGER NOT NULL DEFAULT 0,
    "last_outcome" TEXT,
    "created_at" TIMESTAMPTZ(3) NOT NULL,
    -- From when the time for attempts counts: creation, or the last redelivery.
    "since" TIMESTAMPTZ(3) NOT NULL,
    "next_at" TIMESTAMPTZ(3),
    "finished_at" TIMESTAMPTZ(3),

    CONSTRAINT "alert_deliveries_pkey" PRIMARY KEY ("project_id", "endpoint_id", "id")
);
CREATE INDEX "alert_deliveries_waiting_idx" ON "alert_deliveries" ("project_id", "endpoint_id", "serial") WHERE "state" = 'waiting';
CREATE INDEX "alert_deliveries_project_id_serial_idx" ON "alert_deliveries" ("project_id", "serial" DESC);
CREATE INDEX "alert_deliveries_endpoint_serial_idx" ON "alert_deliveries" ("project_id", "endpoint_id", "serial" DESC);

CREATE TABLE "alert_attempts" (
    "project_id" INTEGER NOT NULL,
    "endpoint_id" UUID NOT NULL,
    "delivery_id" TEXT NOT NULL,
    "number" INTEGER NOT NULL,
    "at" TIMESTAMPTZ(3) NOT NULL,
    "outcome" TEXT NOT NULL,
    "status" INTEGER,
    "duration_ms" INTEGER NOT NULL,
    "request" TEXT NOT NULL,
    "answer" TEXT NOT NULL,

    CONSTRAINT "alert_attempts_pkey" PRIMARY KEY ("project_id", "endpoint_id", "delivery_id", "number")
);

DO $$ BEGIN
  IF EXISTS (SELECT 1 FROM pg_extension WHERE extname = 'citus') THEN
    IF EXISTS (SELECT 1 FROM pg_dist_partition WHERE logicalrelid = 'sessions'::regclass) THEN
      PERFORM create_distributed_table('alert_endpoints', 'project_id', colocate_with => 'sessions');
      PERFORM create_distributed_table('alert_deliveries', 'project_id', colocate_with => 'sessions');
      PERFORM create_distributed_table('alert_attempts', 'project_id', colocate_with => 'sessions');
    END IF;
  END IF;
END $$;
