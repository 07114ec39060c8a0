import type { UnmappedTelemetry } from "@plimsoll/protocol/api";
import type { Logger } from "pino";
import type { Writers } from "../../db/sql.ts";
import { KEPT_UNMAPPED } from "../../db/tables/unmapped-telemetry.ts";
import { CountedBook } from "./counted-book.ts";

/** Telemetry of one source that became no event for one reason. Unknown names are empty. */
export interface UnmappedRecords
  extends Pick<UnmappedTelemetry, "signal" | "service" | "scope" | "name" | "reason"> {
  dialect: string;
  /** Names of the attributes of the newest record, without their values. */
  attributes: readonly string[];
  count: number;
}

export const unmappedKey = ({ signal, service, scope, name, reason }: UnmappedRecords) =>
  JSON.stringify([signal, service, scope, name, reason]);

const ADD = `
INSERT INTO unmapped_telemetry AS kept
  (project_id, signal, service, scope, name, reason, dialect, attributes, count, first_at, last_at)
SELECT $1, r.signal, r.service, r.scope, r.name, r.reason, r.dialect,
  ARRAY(SELECT jsonb_array_elements_text(r.attributes)), r.count, t.now, t.now
FROM jsonb_to_recordset($2::jsonb) AS r(signal text, service text, scope text, name text, reason text,
  dialect text, attributes jsonb, count bigint)
CROSS JOIN (SELECT to_timestamp($3::float8 / 1000) AS now) t
ORDER BY r.signal, r.service, r.scope, r.name, r.reason
ON CONFLICT (project_id, signal, service, scope, name, reason) DO UPDATE
SET dialect = EXCLUDED.dialect, attributes = EXCLUDED.attributes, count = kept.count + EXCLUDED.count,
  last_at = EXCLUDED.last_at`;

const TRIM = `
DELETE FROM unmapped_telemetry kept
WHERE kept.project_id = $1 AND (kept.signal, kept.service, kept.scope, kept.name, kept.reason) IN (
  SELECT signal, service, scope, name, reason FROM unmapped_telemetry r WHERE r.project_id = $1
  ORDER BY last_at DESC, signal, service, scope, name, reason OFFSET ${KEPT_UNMAPPED})`;

export type UnmappedBook = CountedBook<UnmappedRecords>;

/** Remembers which telemetry became no event, so that Setup can say what is missing. */
export function createUnmappedBook(writers: Pick<Writers, "transaction">, log: Logger): UnmappedBook {
  return new CountedBook<UnmappedRecords>({
    writers,
    log,
    what: "the sources of unmapped telemetry",
    keyOf: unmappedKey,
    async write(sql, projectId, records, now) {
      await sql.execute(ADD, projectId, JSON.stringify(records), now);
      await sql.execute(TRIM, projectId);
    },
  });
}
