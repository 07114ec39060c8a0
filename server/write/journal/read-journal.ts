import type { Sql } from "../../db/sql.ts";
import type { JournaledEntry } from "./entry-queue.ts";
import { unpackEntry } from "./journal-entry.ts";

/** Journal rows read at once. */
const READ_ROWS = 256;
/** Events after which a read ends. */
const READ_EVENTS = 16_000;
/** Milliseconds of unpacking after which other work gets a turn. */
const SLICE_MS = 4;

/** Ids have the time of the database, so their order is that of receipt, whichever process journaled the row. */
const READ_JOURNAL = `
SELECT id, (extract(epoch FROM received_at) * 1000)::float8 AS received_ms, events, body FROM (
  SELECT id, received_at, events, body, sum(events) OVER (ORDER BY id) - events AS before FROM (
    SELECT id, received_at, events, body FROM journal
    WHERE project_id = $1 AND NOT (id = ANY($2::uuid[])) ORDER BY id LIMIT ${READ_ROWS}) oldest) sized
WHERE before < ${READ_EVENTS} ORDER BY id`;

const COUNT_JOURNAL = "SELECT COALESCE(sum(events), 0)::float8 AS events FROM journal WHERE project_id = $1";

interface JournalRow {
  id: string;
  received_ms: number;
  events: number;
  body: Uint8Array;
}

/** Reads the oldest rows except those with the ids in `known`. `complete` if the journal holds no more. */
export async function readJournal(
  sql: Pick<Sql, "query">,
  projectId: number,
  known: readonly string[],
): Promise<{ entries: JournaledEntry[]; complete: boolean }> {
  const rows = await sql.query<JournalRow>(READ_JOURNAL, projectId, known);
  const entries: JournaledEntry[] = [];
  let events = 0;
  let sliceEnds = performance.now() + SLICE_MS;
  for (const { id, received_ms: receivedAt, events: own, body } of rows) {
    entries.push({ id, receivedAt, entry: unpackEntry(body) });
    events += own;
    if (performance.now() < sliceEnds) continue;
    await new Promise(setImmediate);
    sliceEnds = performance.now() + SLICE_MS;
  }
  return { entries, complete: rows.length < READ_ROWS && events < READ_EVENTS };
}

/** Events that a project's journal holds. */
export async function countJournal(sql: Pick<Sql, "query">, projectId: number): Promise<number> {
  const [row] = await sql.query<{ events: number }>(COUNT_JOURNAL, projectId);
  return row?.events ?? 0;
}
