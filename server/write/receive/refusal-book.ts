import type { Logger } from "pino";
import type { Writers } from "../../db/sql.ts";
import { KEPT_REFUSALS } from "../../db/tables/ingest-refusals.ts";
import { CountedBook } from "./counted-book.ts";

/** Refused events that share a harness, a type, a reason and a field. Unknown names are empty. */
export interface RefusedEvents {
  harness: string;
  type: string;
  code: string;
  path: string;
  message: string;
  /** See `redactEvent`. */
  example: string;
  count: number;
}

export const refusalKey = ({
  harness,
  type,
  code,
  path,
}: Omit<RefusedEvents, "message" | "example" | "count">) => JSON.stringify([harness, type, code, path]);

const ADD = `
INSERT INTO ingest_refusals AS kept
  (project_id, harness, type, code, path, message, example, count, first_at, last_at)
SELECT $1, r.harness, r.type, r.code, r.path, r.message, r.example, r.count, t.now, t.now
FROM jsonb_to_recordset($2::jsonb)
  AS r(harness text, type text, code text, path text, message text, example text, count bigint)
CROSS JOIN (SELECT to_timestamp($3::float8 / 1000) AS now) t
ORDER BY r.harness, r.type, r.code, r.path
ON CONFLICT (project_id, harness, type, code, path) DO UPDATE
SET message = EXCLUDED.message, example = EXCLUDED.example, count = kept.count + EXCLUDED.count,
  last_at = EXCLUDED.last_at`;

const TRIM = `
DELETE FROM ingest_refusals kept WHERE kept.project_id = $1 AND (kept.harness, kept.type, kept.code, kept.path) IN (
  SELECT harness, type, code, path FROM ingest_refusals r WHERE r.project_id = $1
  ORDER BY last_at DESC, harness, type, code, path OFFSET ${KEPT_REFUSALS})`;

export type RefusalBook = CountedBook<RefusedEvents>;

/** Remembers what is wrong with refused events. */
export function createRefusalBook(writers: Pick<Writers, "transaction">, log: Logger): RefusalBook {
  return new CountedBook<RefusedEvents>({
    writers,
    log,
    what: "the reasons of refused events",
    keyOf: refusalKey,
    async write(sql, projectId, refused, now) {
      await sql.execute(ADD, projectId, JSON.stringify(refused), now);
      await sql.execute(TRIM, projectId);
    },
  });
}
