-- Each bucket gets a row, under an empty harness and model, that adds up all its others: what the whole fleet did is read
-- as one row a bucket, however many harnesses and models it has. The harness comes before the bucket in the keys, so that
-- these rows, and those of any one harness, lie together.

INSERT INTO "rollups" ("project_id", "grain", "bucket", "harness", "model", "turns", "missing", "fresh", "cache_read",
  "cache_write", "output", "cost_micros", "peak_tokens", "peak_utilization", "bins")
WITH summed AS (
  SELECT "project_id", "grain", "bucket", sum("turns") AS turns, sum("missing") AS missing, sum("fresh") AS fresh,
    sum("cache_read") AS cache_read, sum("cache_write") AS cache_write, sum("output") AS output,
    sum("cost_micros") AS cost_micros, max("peak_tokens") AS peak_tokens, max("peak_utilization") AS peak_utilization
  FROM "rollups" GROUP BY 1, 2, 3
), counted AS (
  SELECT "project_id", "grain", "bucket", b.place, sum(b.turns)::int4 AS turns
  FROM "rollups", unnest("bins") WITH ORDINALITY AS b(turns, place) GROUP BY 1, 2, 3, 4
), merged AS (
  SELECT "project_id", "grain", "bucket", array_agg(turns ORDER BY place) AS bins FROM counted GROUP BY 1, 2, 3
)
SELECT "project_id", "grain", "bucket", '', '', turns, missing, fresh, cache_read, cache_write, output, cost_micros,
  peak_tokens, peak_utilization, COALESCE(bins, '{}')
FROM summed LEFT JOIN merged USING ("project_id", "grain", "bucket");

INSERT INTO "boundary_rollups" ("project_id", "grain", "bucket", "harness", "type", "count", "reclaimed")
SELECT "project_id", "grain", "bucket", '', "type", sum("count"), sum("reclaimed")
FROM "boundary_rollups" GROUP BY 1, 2, 3, 5;

ALTER TABLE "rollups" DROP CONSTRAINT "rollups_pkey",
ADD CONSTRAINT "rollups_pkey" PRIMARY KEY ("project_id", "grain", "harness", "bucket", "model");
ALTER TABLE "boundary_rollups" DROP CONSTRAINT "boundary_rollups_pkey",
ADD CONSTRAINT "boundary_rollups_pkey" PRIMARY KEY ("project_id", "grain", "harness", "bucket", "type");
