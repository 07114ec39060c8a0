import type { PrismaClient } from "./client.ts";
import { type UnavailableReason, unavailableReason } from "./unavailable.ts";

/** Rows that do not fit into the smallest work_mem, so that PostgreSQL writes about 1 MB to a temporary file. */
const SPILLED_ROWS = 40_000;

/**
 * Finds out whether the database can store events now, without changing any data. 5 to 15 ms.
 * - A temporary file needs free space where the tables are. PostgreSQL deletes it at once
 * - A message in the write-ahead log needs a commit with fsync. Nothing reads the message
 *
 * An assigned transaction id or an update of one row succeeds on a full disk.
 * @returns why it cannot; undefined when it can. Never rejects, and takes as long as the connection's timeouts allow
 */
export async function probeWrite(database: PrismaClient): Promise<UnavailableReason | undefined> {
  try {
    const [, [session]] = await database.$transaction([
      database.$executeRaw`SET LOCAL work_mem = '64kB'`,
      database.$queryRaw<{ readOnly: boolean; rows: number }[]>`
        SELECT current_setting('transaction_read_only') = 'on' AS "readOnly", count(*)::int AS rows
          FROM generate_series(1, ${SPILLED_ROWS}::int)`,
      database.$executeRaw`SELECT pg_logical_emit_message(true, 'plimsoll', '')`,
    ]);
    return session?.readOnly ? "read_only" : undefined;
  } catch (error) {
    return unavailableReason(error) ?? "connection";
  }
}
