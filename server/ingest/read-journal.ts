import type { Sql } from "../db/sql.ts";
import type { JournaledEntry } from "./entry-queue.ts";
import type { JournalEntry } from "./journal-entry.ts";

/** Journal rows read at once. */
const READ_ROWS = 32;

const READ_JOURNAL = `
SELECT id, (extract(epoch FROM received_at) * 1000)::float8 AS received_ms, body FROM journal
WHERE project_id = $1 AND NOT (id = ANY($2::uuid[])) ORDER BY id LIMIT ${READ_ROWS}`;

/** Reads the oldest rows except those with the ids in `known`. `complete` if the journal holds no more. */
export async function readJournal(
  sql: Pick<Sql, "query">,
  projectId: number,
  known: readonly string[],
): Promise<{ entries: JournaledEntry[]; complete: boolean }> {
  const rows = await sql.query<{ id: string; received_ms: number; body: string }>(
    READ_JOURNAL,
    projectId,
    known,
  );
  const entries = rows.map(({ id, received_ms: receivedAt, body }) => {
    return { id, receivedAt, entry: JSON.parse(body) as JournalEntry };
  });
  return { entries, complete: rows.length < READ_ROWS };
}
