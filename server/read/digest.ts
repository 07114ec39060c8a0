import {
  DIGEST_KINDS,
  type Digest,
  type DigestItem,
  type DigestKind,
  type DigestQuery,
  MOST_DIGEST_ITEMS,
} from "@plimsoll/protocol/api";
import { DEFAULT_AGENT } from "@plimsoll/protocol/events";
import { Prisma } from "../db/client.ts";
import { slotOf } from "../db/tables/buckets.ts";
import type { FreshReader, Reader } from "../lines/reader.ts";
import { iso, type Span, spanOf } from "../times.ts";

/** One subject of a kind, beside the sums of the kind. */
interface DigestRow extends Omit<DigestItem, "first_at" | "last_at"> {
  first: Date;
  last: Date;
  all_times: number;
  all_subjects: number;
}

/** What happened in a range to agents, sessions and harnesses. */
export async function readDigest(reader: FreshReader, query: DigestQuery): Promise<Digest> {
  const span = spanOf(query);
  const rows = (
    await Promise.all([
      readFired(reader, span, query.harness),
      readMarks(reader, span, query.harness),
      readRises(reader, span, query.harness),
      readEnded(reader, span, query.harness),
      readNewHarnesses(reader, span, query.harness),
    ])
  ).flat();
  const countOf = (kind: DigestKind) => {
    const row = rows.find((one) => one.kind === kind);
    return { times: row?.all_times ?? 0, subjects: row?.all_subjects ?? 0 };
  };
  return {
    range: { from: iso(span.from), to: iso(span.to) },
    counts: Object.fromEntries(DIGEST_KINDS.map((kind) => [kind, countOf(kind)])) as Digest["counts"],
    items: DIGEST_KINDS.flatMap((kind) =>
      rows
        .filter((row) => row.kind === kind)
        .map(
          ({ first, last, all_times: _, all_subjects: __, ...item }): DigestItem => ({
            ...item,
            first_at: first.toISOString(),
            last_at: last.toISOString(),
          }),
        ),
    ),
  };
}

/** The latest subjects of each kind, with the sums over all of them. `found` has the other columns of a row. */
const latest = (reader: Reader, found: Prisma.Sql) => reader.prisma.$queryRaw<DigestRow[]>`
  SELECT kind, times, first, last, session_id, title, harness, agent, tokens_before, tokens_after, text, severity, open,
    all_times, all_subjects
  FROM (
    SELECT f.*, (sum(times) OVER kinds)::int4 AS all_times, (count(*) OVER kinds)::int4 AS all_subjects,
      row_number() OVER (PARTITION BY kind ORDER BY last DESC, session_id, agent) AS place
    FROM (${found}) f WINDOW kinds AS (PARTITION BY kind)
  ) r WHERE place <= ${MOST_DIGEST_ITEMS} ORDER BY place`;

const ofHarness = (column: Prisma.Sql, harness: string | undefined) =>
  harness === undefined ? Prisma.empty : Prisma.sql`AND ${column} = ${harness}`;

const within = (column: Prisma.Sql, { from, to }: Span) =>
  Prisma.sql`${column} >= ${new Date(from)} AND ${column} < ${new Date(to)}`;

const AGENT = Prisma.sql`CASE WHEN a.id = s.main_agent THEN NULL ELSE a.name END AS agent`;
const SESSION = Prisma.sql`s.id::text AS session_id, COALESCE(s.title, s.name) AS title, s.harness`;

/** Alerts of one rule about one session or harness are one item. */
function readFired(reader: Reader, span: Span, harness: string | undefined): Promise<DigestRow[]> {
  return latest(
    reader,
    Prisma.sql`
      SELECT 'alert' AS kind, count(*)::int4 AS times, min(fired_at) AS first, max(fired_at) AS last,
        session_id::text, place->>'session' AS title, place->>'harness' AS harness, NULLIF(place->>'agent', ${DEFAULT_AGENT}) AS agent,
        NULL::int4 AS tokens_before, NULL::int4 AS tokens_after, facts->>'rule' AS text, facts->>'severity' AS severity,
        bool_or(resolved_at IS NULL) AS open
      FROM alerts
      WHERE project_id = ${reader.projectId} AND ${within(Prisma.sql`fired_at`, span)}
        ${ofHarness(Prisma.sql`place->>'harness'`, harness)}
      GROUP BY session_id, place->>'session', place->>'harness', place->>'agent', facts->>'rule', facts->>'severity'`,
  );
}

function readMarks(reader: Reader, span: Span, harness: string | undefined): Promise<DigestRow[]> {
  return latest(
    reader,
    Prisma.sql`
      SELECT n.type AS kind, n.times, n.first, n.last, ${SESSION}, ${AGENT}, n.tokens_before, n.tokens_after,
        NULL AS text, NULL AS severity, NULL::boolean AS open
      FROM sessions s
      JOIN agents a ON a.project_id = ${reader.projectId} AND a.session_id = s.id AND (a.unexplained > 0 OR a.restarts > 0)
      CROSS JOIN LATERAL (
        SELECT type, count(*)::int4 AS times, min(at) AS first, max(at) AS last,
          (array_agg(tokens_before ORDER BY at DESC))[1] AS tokens_before,
          (array_agg(tokens_after ORDER BY at DESC))[1] AS tokens_after
        FROM boundaries
        WHERE project_id = ${reader.projectId} AND agent_id = a.id AND type IN ('unexplained', 'restarted')
          AND ${within(Prisma.sql`at`, span)}
        GROUP BY type
      ) n
      WHERE ${sessionsWithin(reader, span)} AND (s.unexplained > 0 OR s.restarts > 0) ${ofHarness(Prisma.sql`s.harness`, harness)}`,
  );
}

/** An agent's line is its ceiling, else its hard threshold, else its reserve: the first of them that it ever rises to. */
function readRises(reader: Reader, span: Span, harness: string | undefined): Promise<DigestRow[]> {
  return latest(
    reader,
    Prisma.sql`
      SELECT 'past_line' AS kind, c.times, c.first, c.last, ${SESSION}, ${AGENT}, c.tokens_before, c.tokens_after,
        NULL AS text, NULL AS severity, NULL::boolean AS open
      FROM (
        SELECT DISTINCT ON (agent_id) * FROM (
          SELECT agent_id, session_id, threshold, count(*)::int4 AS times, min(at) AS first, max(at) AS last,
            max(context_tokens) AS tokens_before, (array_agg(threshold_tokens ORDER BY at DESC))[1] AS tokens_after
          FROM crossings
          WHERE project_id = ${reader.projectId} AND threshold IN ('ceiling', 'hard', 'reserve') AND up
            AND ${within(Prisma.sql`at`, span)}
          GROUP BY agent_id, session_id, threshold
        ) t ORDER BY agent_id, array_position('{ceiling,hard,reserve}'::text[], threshold)
      ) c
      JOIN sessions s ON s.project_id = ${reader.projectId} AND s.id = c.session_id AND s.deleted_at IS NULL
      JOIN agents a ON a.project_id = ${reader.projectId} AND a.id = c.agent_id
      WHERE true ${ofHarness(Prisma.sql`s.harness`, harness)}`,
  );
}

function readEnded(reader: Reader, span: Span, harness: string | undefined): Promise<DigestRow[]> {
  return latest(
    reader,
    Prisma.sql`
      SELECT 'ended' AS kind, 1 AS times, s.ended_at AS first, s.ended_at AS last, ${SESSION}, NULL AS agent,
        NULL::int4 AS tokens_before, s.current_tokens AS tokens_after, s.end_reason AS text, NULL AS severity,
        NULL::boolean AS open
      FROM sessions s
      WHERE ${sessionsWithin(reader, span)} AND ${within(Prisma.sql`s.ended_at`, span)} ${ofHarness(Prisma.sql`s.harness`, harness)}`,
  );
}

/** By the time of receipt: a history that is imported now was not seen before. */
function readNewHarnesses(reader: Reader, span: Span, harness: string | undefined): Promise<DigestRow[]> {
  return latest(
    reader,
    Prisma.sql`
      SELECT 'harness' AS kind, 1 AS times, added_at AS first, added_at AS last, NULL AS session_id, NULL AS title,
        instance AS harness, NULL AS agent, NULL::int4 AS tokens_before, NULL::int4 AS tokens_after, NULL AS text,
        NULL AS severity, NULL::boolean AS open
      FROM harnesses
      WHERE project_id = ${reader.projectId} AND deleted_at IS NULL AND ${within(Prisma.sql`added_at`, span)}
        ${ofHarness(Prisma.sql`instance`, harness)}`,
  );
}

const sessionsWithin = ({ projectId }: Reader, { from, to }: Span) => Prisma.sql`
  s.project_id = ${projectId} AND s.last_slot >= ${slotOf(from)} AND s.last_at >= ${new Date(from)}
  AND s.first_at < ${new Date(to)} AND s.deleted_at IS NULL`;
