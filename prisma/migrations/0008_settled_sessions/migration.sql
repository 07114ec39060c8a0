-- A transaction that writes events no longer writes sessions nor the window an agent is in: sessions are summed when
-- totals are settled, and the open window stands in the agent's state, which is packed from now on.

UPDATE "pending_totals" SET "delta" = ("delta"::jsonb || '{"sessions": []}')::json;

DELETE FROM "windows" w USING "agents" a
WHERE w."project_id" = a."project_id" AND w."agent_id" = a."id" AND w."index" = (a."state"->'window'->>'index')::int4;

ALTER TABLE "agents" ADD COLUMN "packed" TEXT;

UPDATE "agents" SET "packed" = json_build_array(
  CASE WHEN state->'tail' IS NOT NULL THEN json_build_array(
    state->'tail'->'window', state->'tail'->'seq', state->'tail'->'at', state->'tail'->'key') END,
  state->'lastTurnAt',
  CASE WHEN state->'lastMark' IS NOT NULL THEN json_build_array(
    state->'lastMark'->'window', state->'lastMark'->'at', state->'lastMark'->'id') END,
  state->'numbering'->'openers',
  CASE WHEN state->'numbering'->'anchor' IS NOT NULL THEN json_build_array(
    state->'numbering'->'anchor'->'at', state->'numbering'->'anchor'->'offset') END,
  state->'numbering'->'countedAt',
  state->'turns',
  (SELECT COALESCE(json_agg(json_build_array(r.value->'model', r.value->'tokens') ORDER BY r.ordinality), '[]')
   FROM json_array_elements(state->'reported') WITH ORDINALITY r),
  state->'model',
  state->'current',
  state->'currentAt',
  state->'currentEstimated',
  state->'currentWindow',
  state->'windowTokens',
  state->'windowSource',
  state->'uncounted',
  state->'recent',
  state->'above',
  (SELECT COALESCE(json_agg(json_build_array(p.value->'id', p.value->'type', p.value->'at', p.value->'window',
     p.value->'tokensBefore', p.value->'tokensAfter') ORDER BY p.ordinality), '[]')
   FROM json_array_elements(state->'pending') WITH ORDINALITY p),
  CASE WHEN state->'window' IS NOT NULL THEN json_build_array(
    state->'window'->'index', state->'window'->'firstAt', state->'window'->'lastAt', state->'window'->'turns',
    state->'window'->'firstTokens', state->'window'->'lastTokens', state->'window'->'peakTokens',
    state->'window'->'peakUtilization', state->'window'->'windowTokens') END,
  state->'windows',
  CASE WHEN state->'peak' IS NOT NULL THEN json_build_array(
    state->'peak'->'tokens', state->'peak'->'windowTokens', state->'peak'->'at') END,
  state->'peakUtilization',
  CASE WHEN state->'reports' IS NOT NULL THEN json_build_array(state->'reports'->'openUntil') END
)::text;

ALTER TABLE "agents" DROP COLUMN "state";
ALTER TABLE "agents" RENAME COLUMN "packed" TO "state";
ALTER TABLE "agents" ALTER COLUMN "state" SET NOT NULL;
