-- Rollups get two more bucket lengths, a quarter of an hour and six hours, so that a chart of a day or of a month reads
-- as few rows as one of an hour. What is recorded already is summed up from the minutes and the hours.

INSERT INTO "rollups" ("project_id", "grain", "bucket", "harness", "model", "turns", "missing", "fresh", "cache_read",
  "cache_write", "output", "cost_micros", "peak_tokens", "peak_utilization", "bins")
WITH source AS (
  SELECT g.grain AS longer, date_bin(g.grain * interval '1 minute', r."bucket", 'epoch') AS longer_bucket, r.*
  FROM (VALUES (15, 1), (360, 60)) AS g(grain, shorter) JOIN "rollups" r ON r."grain" = g.shorter
), summed AS (
  SELECT "project_id", longer, longer_bucket, "harness", "model", sum("turns") AS turns, sum("missing") AS missing,
    sum("fresh") AS fresh, sum("cache_read") AS cache_read, sum("cache_write") AS cache_write,
    sum("output") AS output, sum("cost_micros") AS cost_micros, max("peak_tokens") AS peak_tokens,
    max("peak_utilization") AS peak_utilization
  FROM source GROUP BY 1, 2, 3, 4, 5
), counted AS (
  SELECT "project_id", longer, longer_bucket, "harness", "model", b.place, sum(b.turns)::int4 AS turns
  FROM source, unnest("bins") WITH ORDINALITY AS b(turns, place) GROUP BY 1, 2, 3, 4, 5, 6
), merged AS (
  SELECT "project_id", longer, longer_bucket, "harness", "model", array_agg(turns ORDER BY place) AS bins
  FROM counted GROUP BY 1, 2, 3, 4, 5
)
SELECT "project_id", longer, longer_bucket, "harness", "model", turns, missing, fresh, cache_read, cache_write, output,
  cost_micros, peak_tokens, peak_utilization, COALESCE(bins, '{}')
FROM summed LEFT JOIN merged USING ("project_id", longer, longer_bucket, "harness", "model");

INSERT INTO "boundary_rollups" ("project_id", "grain", "bucket", "harness", "type", "count", "reclaimed")
SELECT r."project_id", g.grain, date_bin(g.grain * interval '1 minute', r."bucket", 'epoch'), r."harness", r."type",
  sum(r."count"), sum(r."reclaimed")
FROM (VALUES (15, 1), (360, 60)) AS g(grain, shorter) JOIN "boundary_rollups" r ON r."grain" = g.shorter
GROUP BY 1, 2, 3, 4, 5;
