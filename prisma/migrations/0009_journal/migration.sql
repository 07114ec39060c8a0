-- Events are journaled first and projected afterwards by one writer a project, so everything derived is written in one
-- transaction and nothing waits in pending_totals. Turns name their agent by a small number: 40 bytes a turn less.

-- What the last version had not settled yet is counted again from the turns.
CREATE TEMP TABLE "unsettled" AS SELECT EXISTS (SELECT 1 FROM "pending_totals") AS "waiting";

ALTER TABLE "agents" DROP COLUMN "state", ADD COLUMN "state" TEXT, ADD COLUMN "number" INTEGER,
  ADD COLUMN "has_state" BOOLEAN NOT NULL DEFAULT false;
UPDATE "agents" a SET "number" = n."number"
FROM (SELECT "project_id", "id", row_number() OVER (PARTITION BY "project_id" ORDER BY "first_at", "id")::int4 AS "number"
      FROM "agents") n
WHERE a."project_id" = n."project_id" AND a."id" = n."id";
ALTER TABLE "agents" ALTER COLUMN "number" SET NOT NULL;

ALTER TABLE "sessions" ADD COLUMN "version" INTEGER NOT NULL DEFAULT 1, ADD COLUMN "main_agent" UUID;
UPDATE "sessions" s SET "main_agent" = (
  SELECT a."id" FROM "agents" a WHERE a."project_id" = s."project_id" AND a."session_id" = s."id"
  ORDER BY a."name" = 'main' DESC, a."parent" IS NULL DESC, a."first_at", a."id" LIMIT 1);

CREATE TABLE "turns_by_number" (
    "at" TIMESTAMPTZ(3) NOT NULL,
    "key" BIGINT NOT NULL,
    "project_id" INTEGER NOT NULL,
    "agent" INTEGER NOT NULL,
    "delay" INTEGER NOT NULL,
    "model_id" INTEGER NOT NULL,
    "window_index" INTEGER NOT NULL,
    "window_tokens" INTEGER,
    "context_tokens" INTEGER,
    "input_tokens" INTEGER,
    "cache_read" INTEGER,
    "cache_write" INTEGER,
    "output_tokens" INTEGER,
    "reasoning" INTEGER,
    "seq" INTEGER,
    "sent_window" INTEGER,
    "sent_limit" INTEGER,
    "duration_ms" INTEGER,
    "cost_micros" INTEGER,
    "facets" SMALLINT NOT NULL,
    "composition" INTEGER[]
);
INSERT INTO "turns_by_number"
SELECT t."at", t."key", t."project_id", a."number",
  LEAST(GREATEST(round(extract(epoch FROM t."received_at" - t."at")), -2147483647), 2147483647)::int4,
  t."model_id", t."window_index", t."window_tokens", t."context_tokens", t."input_tokens", t."cache_read",
  t."cache_write", t."output_tokens", t."reasoning", t."seq", t."sent_window", t."sent_limit", t."duration_ms",
  t."cost_micros", t."facets" | (t."purpose" * 32)::int2, t."composition"
FROM "turns" t JOIN "agents" a ON a."project_id" = t."project_id" AND a."id" = t."agent_id";
DROP TABLE "turns";
ALTER TABLE "turns_by_number" RENAME TO "turns";
ALTER TABLE "turns" ADD CONSTRAINT "turns_pkey" PRIMARY KEY ("project_id", "agent", "key");
-- Finds an agent's turns of a time. All turns of five minutes share an entry, so it costs some 7 bytes a turn.
CREATE INDEX "turns_slot_idx" ON "turns" ("project_id", "agent", date_bin('5 minutes', "at", '2000-01-01Z'));

CREATE INDEX "agents_state_idx" ON "agents" ("project_id", "number") WHERE "has_state";
CREATE UNIQUE INDEX "agents_project_id_number_key" ON "agents" ("project_id", "number");
CREATE INDEX "boundaries_session_idx" ON "boundaries" ("project_id", "session_id") WHERE "type" = 'session';

ALTER TABLE "harnesses" ALTER COLUMN "status" SET DEFAULT 'unknown', ALTER COLUMN "capabilities" SET DEFAULT '{}';
ALTER TABLE "ingest_counts" ALTER COLUMN "day" TYPE TIMESTAMPTZ(3) USING "day"::timestamp AT TIME ZONE 'UTC';

ALTER TABLE "rollups" ADD COLUMN "stale" BOOLEAN NOT NULL DEFAULT false;
CREATE INDEX "rollups_stale_idx" ON "rollups" ("project_id", "bucket") WHERE "stale";

CREATE TABLE "segments" (
    "project_id" INTEGER NOT NULL,
    "agent" INTEGER NOT NULL,
    "ends_at" TIMESTAMPTZ(3) NOT NULL,
    "state" TEXT NOT NULL,
    "summary" TEXT NOT NULL,

    CONSTRAINT "segments_pkey" PRIMARY KEY ("project_id", "agent", "ends_at")
);

CREATE TABLE "journal" (
    "project_id" INTEGER NOT NULL,
    "id" UUID NOT NULL,
    "events" INTEGER NOT NULL,
    "received_at" TIMESTAMPTZ(3) NOT NULL DEFAULT clock_timestamp(),
    "body" TEXT NOT NULL,

    CONSTRAINT "journal_pkey" PRIMARY KEY ("project_id", "id")
);
-- lz4 makes the journal's rows a fifth as large and costs little. Some builds of PostgreSQL do not have it.
DO $$ BEGIN
  ALTER TABLE "journal" ALTER COLUMN "body" SET COMPRESSION lz4;
EXCEPTION WHEN OTHERS THEN
  ALTER TABLE "journal" ALTER COLUMN "body" SET STORAGE EXTERNAL;
END $$;
-- Every row lives for a moment only.
ALTER TABLE "journal" SET (autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 5000,
  toast.autovacuum_vacuum_scale_factor = 0, toast.autovacuum_vacuum_threshold = 20000);

CREATE TABLE "projectors" (
    "project_id" INTEGER NOT NULL,
    "holder" UUID NOT NULL,
    "epoch" BIGINT NOT NULL,
    "expires_at" TIMESTAMPTZ(3) NOT NULL,

    CONSTRAINT "projectors_pkey" PRIMARY KEY ("project_id")
);

CREATE TABLE "refolds" (
    "project_id" INTEGER NOT NULL,
    "agent_id" UUID NOT NULL,
    "reason" TEXT NOT NULL,
    "asked_at" TIMESTAMPTZ(3) NOT NULL DEFAULT clock_timestamp(),

    CONSTRAINT "refolds_pkey" PRIMARY KEY ("project_id", "agent_id")
);
-- The states of the last version have another form: every agent is folded again from its turns.
INSERT INTO "refolds" ("project_id", "agent_id", "reason")
SELECT "project_id", "id", 'upgrade' FROM "agents" WHERE "turns" > 0;

CREATE TABLE "rejected_events" (
    "project_id" INTEGER NOT NULL,
    "id" UUID NOT NULL,
    "received_at" TIMESTAMPTZ(3) NOT NULL,
    "error" TEXT NOT NULL,
    "event" JSONB NOT NULL,

    CONSTRAINT "rejected_events_pkey" PRIMARY KEY ("project_id", "id")
);

DO $$ BEGIN
  IF NOT (SELECT "waiting" FROM "unsettled") THEN RETURN; END IF;
  DELETE FROM "rollups";
  CREATE TEMP TABLE "minutes" AS
  SELECT t."project_id", date_trunc('minute', t."at", 'UTC') AS "bucket", s."harness", m."name" AS "model",
    t."context_tokens", t."window_tokens", t."output_tokens", t."cost_micros",
    COALESCE(t."cache_read", 0) AS "cache_read", COALESCE(t."cache_write", 0) AS "cache_write",
    COALESCE(CASE WHEN t."facets" & 3 = 2
        OR (t."facets" & 3 = 0 AND COALESCE(t."cache_read", 0) + COALESCE(t."cache_write", 0) > t."input_tokens")
      THEN t."input_tokens"
      ELSE GREATEST(0, t."input_tokens" - COALESCE(t."cache_read", 0) - COALESCE(t."cache_write", 0)) END, 0) AS "fresh",
    t."facets" & 32 = 0 AS "counts"
  FROM "turns" t
  JOIN "agents" a ON a."project_id" = t."project_id" AND a."number" = t."agent"
  JOIN "sessions" s ON s."project_id" = a."project_id" AND s."id" = a."session_id"
  JOIN "models" m ON m."project_id" = t."project_id" AND m."id" = t."model_id";
  INSERT INTO "rollups" ("project_id", "grain", "bucket", "harness", "model", "turns", "missing", "fresh", "cache_read",
    "cache_write", "output", "cost_micros", "peak_tokens", "peak_utilization", "bins")
  SELECT r."project_id", g."grain", date_bin(g."grain" * interval '1 minute', r."bucket", 'epoch'), e."harness",
    e."model", count(*), count(*) FILTER (WHERE r."context_tokens" IS NULL), sum(r."fresh"), sum(r."cache_read"),
    sum(r."cache_write"), COALESCE(sum(r."output_tokens"), 0), COALESCE(sum(r."cost_micros"), 0),
    max(r."context_tokens") FILTER (WHERE r."counts"),
    max(r."context_tokens"::float8 / r."window_tokens") FILTER (WHERE r."counts"), '{}'
  FROM "minutes" r CROSS JOIN unnest('{1,15,60,360}'::int2[]) AS g("grain")
  CROSS JOIN LATERAL (VALUES (r."harness", r."model"), ('', '')) AS e("harness", "model")
  GROUP BY 1, 2, 3, 4, 5;
  CREATE TEMP TABLE "binned" AS
  SELECT r."project_id", g."grain", date_bin(g."grain" * interval '1 minute', r."bucket", 'epoch') AS "bucket",
    e."harness", e."model",
    LEAST(floor(r."context_tokens"::float8 / r."window_tokens" / 0.025 + 1e-9), 80)::int4 AS "bin", count(*) AS "turns"
  FROM "minutes" r CROSS JOIN unnest('{1,15,60,360}'::int2[]) AS g("grain")
  CROSS JOIN LATERAL (VALUES (r."harness", r."model"), ('', '')) AS e("harness", "model")
  WHERE r."counts" AND r."context_tokens" IS NOT NULL AND r."window_tokens" > 0
  GROUP BY 1, 2, 3, 4, 5, 6;
  UPDATE "rollups" o SET "bins" = b."bins" FROM (
    SELECT k."project_id", k."grain", k."bucket", k."harness", k."model",
      array_agg(COALESCE(c."turns", 0)::int4 ORDER BY p."bin") AS "bins"
    FROM (SELECT "project_id", "grain", "bucket", "harness", "model", max("bin") AS "last" FROM "binned"
          GROUP BY 1, 2, 3, 4, 5) k
    CROSS JOIN LATERAL generate_series(0, k."last") AS p("bin")
    LEFT JOIN "binned" c USING ("project_id", "grain", "bucket", "harness", "model", "bin")
    GROUP BY 1, 2, 3, 4, 5
  ) b
  WHERE (o."project_id", o."grain", o."bucket", o."harness", o."model")
    = (b."project_id", b."grain", b."bucket", b."harness", b."model");
  DROP TABLE "binned";
  DELETE FROM "boundary_rollups";
  INSERT INTO "boundary_rollups" ("project_id", "grain", "bucket", "harness", "type", "count", "reclaimed")
  SELECT b."project_id", g."grain", date_bin(g."grain" * interval '1 minute', b."at", 'epoch'), e."harness", b."type",
    count(*), sum(GREATEST(0, COALESCE(b."tokens_before" - b."tokens_after", 0)))
  FROM "boundaries" b JOIN "sessions" s ON s."project_id" = b."project_id" AND s."id" = b."session_id"
  CROSS JOIN unnest('{1,15,60,360}'::int2[]) AS g("grain")
  CROSS JOIN LATERAL (VALUES (s."harness"), ('')) AS e("harness")
  WHERE b."type" IN ('masked', 'compacted', 'subtick', 'restarted', 'cleared', 'unexplained')
  GROUP BY 1, 2, 3, 4, 5;
  INSERT INTO "ingest_counts" AS c ("project_id", "day", "outcome", "count")
  SELECT k."project_id", date_trunc('day', now(), 'UTC'), k."outcome", k."count" - COALESCE(d."count", 0)
  FROM (SELECT "project_id", 'turn' AS "outcome", count(*) AS "count" FROM "turns" GROUP BY 1
        UNION ALL
        SELECT "project_id", 'mark', count(*) FROM "boundaries" WHERE "origin" = 0 GROUP BY 1) k
  LEFT JOIN (SELECT "project_id", "outcome", sum("count") AS "count" FROM "ingest_counts" GROUP BY 1, 2) d
    USING ("project_id", "outcome")
  ON CONFLICT ("project_id", "day", "outcome") DO UPDATE SET "count" = c."count" + EXCLUDED."count";
  DROP TABLE "minutes";
END $$;
DROP TABLE "pending_totals", "unsettled";
