-- How a version reaches the harnesses in stages, and how far it is. Each stage is a row of policy_steps as well.
CREATE TABLE "policy_rollouts" (
    "project_id" INTEGER NOT NULL,
    "generation" INTEGER NOT NULL,
    "plan" JSONB NOT NULL,
    "state" TEXT NOT NULL,
    "stage" INTEGER NOT NULL,
    "canary" TEXT,
    "since" TIMESTAMPTZ(3) NOT NULL,
    "resumed_at" TIMESTAMPTZ(3),
    "forgiven" TEXT[] NOT NULL,
    "halt_reason" TEXT,
    "ended_at" TIMESTAMPTZ(3),

    CONSTRAINT "policy_rollouts_pkey" PRIMARY KEY ("project_id", "generation")
);

-- Few rollouts run at a time, and every server asks for them every few seconds.
CREATE INDEX "policy_rollouts_running_idx" ON "policy_rollouts" ("project_id") WHERE "state" = 'running';

DO $$ BEGIN
  IF EXISTS (SELECT 1 FROM pg_extension WHERE extname = 'citus') THEN
    IF EXISTS (SELECT 1 FROM pg_dist_partition WHERE logicalrelid = 'sessions'::regclass) THEN
      PERFORM create_distributed_table('policy_rollouts', 'project_id', colocate_with => 'sessions');
    END IF;
  END IF;
END $$;
