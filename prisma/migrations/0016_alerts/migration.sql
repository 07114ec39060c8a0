-- Rules say what people are alerted of. One process a project evaluates them: it reads what the projector's transactions left in
-- alert_signals, and commits the state of the alerts with the deliveries that follow from it.
CREATE TABLE "alert_rules" (
    "project_id" INTEGER NOT NULL,
    "id" UUID NOT NULL,
    "name" TEXT NOT NULL,
    "version" INTEGER NOT NULL,
    "judged_version" INTEGER NOT NULL,
    "enabled" BOOLEAN NOT NULL,
    "body" JSONB NOT NULL,
    "actor" TEXT NOT NULL,
    "actor_name" TEXT,
    "created_at" TIMESTAMPTZ(3) NOT NULL,
    "updated_at" TIMESTAMPTZ(3) NOT NULL,

    CONSTRAINT "alert_rules_pkey" PRIMARY KEY ("project_id", "id")
);
CREATE UNIQUE INDEX "alert_rules_project_id_name_key" ON "alert_rules" ("project_id", "name");

CREATE TABLE "alerts" (
    "project_id" INTEGER NOT NULL,
    "id" UUID NOT NULL,
    "rule_id" UUID NOT NULL,
    "judged_version" INTEGER NOT NULL,
    "subject" TEXT NOT NULL,
    "phase" TEXT NOT NULL,
    "place" JSONB NOT NULL,
    "labels" JSONB NOT NULL,
    "group_key" TEXT NOT NULL,
    "session_id" UUID,
    "started_at" TIMESTAMPTZ(3) NOT NULL,
    "pending_at" TIMESTAMPTZ(3) NOT NULL,
    "fired_at" TIMESTAMPTZ(3),
    "clear_at" TIMESTAMPTZ(3),
    "resolved_at" TIMESTAMPTZ(3),
    "end_reason" TEXT,
    "facts" JSONB,
    "acknowledged_at" TIMESTAMPTZ(3),
    "acknowledged_by" TEXT,

    CONSTRAINT "alerts_pkey" PRIMARY KEY ("project_id", "id")
);
CREATE INDEX "alerts_project_id_fired_at_id_idx" ON "alerts" ("project_id", "fired_at" DESC, "id" DESC);
-- A rule has one alert for a subject at a time. Few alerts are open.
CREATE UNIQUE INDEX "alerts_open_key" ON "alerts" ("project_id", "rule_id", "subject") WHERE "resolved_at" IS NULL;

CREATE TABLE "alert_groups" (
    "project_id" INTEGER NOT NULL,
    "key" TEXT NOT NULL,
    "memory" JSONB NOT NULL,
    "receivers" JSONB NOT NULL,
    "next_at" TIMESTAMPTZ(3),

    CONSTRAINT "alert_groups_pkey" PRIMARY KEY ("project_id", "key")
);

CREATE TABLE "alert_silences" (
    "project_id" INTEGER NOT NULL,
    "id" UUID NOT NULL,
    "matchers" JSONB NOT NULL,
    "comment" TEXT NOT NULL,
    "starts_at" TIMESTAMPTZ(3) NOT NULL,
    "ends_at" TIMESTAMPTZ(3) NOT NULL,
    "actor" TEXT NOT NULL,
    "actor_name" TEXT,
    "created_at" TIMESTAMPTZ(3) NOT NULL,

    CONSTRAINT "alert_silences_pkey" PRIMARY KEY ("project_id", "id")
);

CREATE TABLE "alert_signals" (
    "project_id" INTEGER NOT NULL,
    "id" UUID NOT NULL,
    "sessions" UUID[] NOT NULL,

    CONSTRAINT "alert_signals_pkey" PRIMARY KEY ("project_id", "id")
);

CREATE TABLE "alert_evaluators" (
    "project_id" INTEGER NOT NULL,
    "holder" UUID NOT NULL,
    "epoch" BIGINT NOT NULL,
    "expires_at" TIMESTAMPTZ(3) NOT NULL,
    "watching_since" TIMESTAMPTZ(3) NOT NULL,
    "samples" JSONB NOT NULL,

    CONSTRAINT "alert_evaluators_pkey" PRIMARY KEY ("project_id")
);

-- `alerting`: whether there is something to evaluate. People switch it on; the evaluator switches it off when no rule and no alert is
-- left. The revision rises with every change of a person.
ALTER TABLE "projects" ADD COLUMN "alerting" BOOLEAN NOT NULL DEFAULT false;
ALTER TABLE "projects" ADD COLUMN "alert_revision" INTEGER NOT NULL DEFAULT 0;

DO $$ BEGIN
  IF EXISTS (SELECT 1 FROM pg_extension WHERE extname = 'citus') THEN
    IF EXISTS (SELECT 1 FROM pg_dist_partition WHERE logicalrelid = 'sessions'::regclass) THEN
      PERFORM create_distributed_table('alert_rules', 'project_id', colocate_with => 'sessions');
      PERFORM create_distributed_table('alerts', 'project_id', colocate_with => 'sessions');
      PERFORM create_distributed_table('alert_groups', 'project_id', colocate_with => 'sessions');
      PERFORM create_distributed_table('alert_silences', 'project_id', colocate_with => 'sessions');
      PERFORM create_distributed_table('alert_signals', 'project_id', colocate_with => 'sessions');
      PERFORM create_distributed_table('alert_evaluators', 'project_id', colocate_with => 'sessions');
    END IF;
  END IF;
END $$;
