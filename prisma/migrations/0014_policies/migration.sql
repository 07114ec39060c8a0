-- A policy is kept in versions that are never changed. Its steps say from when on which harnesses are offered it, so that the
-- thresholds of every time can be worked out again.
CREATE TABLE "policy_versions" (
    "project_id" INTEGER NOT NULL,
    "generation" INTEGER NOT NULL,
    "hash" TEXT NOT NULL,
    "body" JSONB NOT NULL,
    "reason" TEXT NOT NULL,
    "actor" TEXT NOT NULL,
    "actor_name" TEXT,
    "restores" INTEGER,
    "created_at" TIMESTAMPTZ(3) NOT NULL,

    CONSTRAINT "policy_versions_pkey" PRIMARY KEY ("project_id", "generation")
);

CREATE TABLE "policy_steps" (
    "project_id" INTEGER NOT NULL,
    "revision" INTEGER NOT NULL,
    "generation" INTEGER NOT NULL,
    "at" TIMESTAMPTZ(3) NOT NULL,
    "share" DOUBLE PRECISION NOT NULL,
    "harnesses" TEXT[] NOT NULL,
    "created_at" TIMESTAMPTZ(3) NOT NULL,

    CONSTRAINT "policy_steps_pkey" PRIMARY KEY ("project_id", "revision")
);

DO $$ BEGIN
  IF EXISTS (SELECT 1 FROM pg_extension WHERE extname = 'citus') THEN
    IF EXISTS (SELECT 1 FROM pg_dist_partition WHERE logicalrelid = 'sessions'::regclass) THEN
      PERFORM create_distributed_table('policy_versions', 'project_id', colocate_with => 'sessions');
      PERFORM create_distributed_table('policy_steps', 'project_id', colocate_with => 'sessions');
    END IF;
  END IF;
END $$;

-- The number of the newest step, and that of the last step the projector has considered.
ALTER TABLE "projects" ADD COLUMN "policy_revision" INTEGER NOT NULL DEFAULT 0;
ALTER TABLE "projectors" ADD COLUMN "policy_revision" INTEGER NOT NULL DEFAULT 0;

-- Until now all agents were judged by the same four lines. Projects with data keep them until somebody saves a policy, so that no
-- crossing of the past changes. Generation 0 is not offered to harnesses.
INSERT INTO "policy_versions" ("project_id", "generation", "hash", "body", "reason", "actor", "created_at")
SELECT p."id", 0, '', '{"settings":{"thresholds":{"warning":"15%","ceiling":"20%","soft":"70%","hard":"90%","reserve":null}},"layers":[]}',
  'The lines of all agents before there were policies', 'server', now()
FROM "projects" p WHERE EXISTS (SELECT 1 FROM "harnesses" h WHERE h."project_id" = p."id");
INSERT INTO "policy_steps" ("project_id", "revision", "generation", "at", "share", "harnesses", "created_at")
SELECT "project_id", 0, 0, to_timestamp(0), 1, '{}', now() FROM "policy_versions";

-- An agent is judged by the lines that its harness reports from now on.
INSERT INTO "refolds" ("project_id", "agent_id", "reason")
SELECT DISTINCT b."project_id", b."agent_id", 'policy' FROM "boundaries" b
WHERE b."type" = 'threshold_crossed' AND b."session_id" IS NOT NULL
ON CONFLICT DO NOTHING;
