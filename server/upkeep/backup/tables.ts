import { DEFAULT_PROJECT_ID } from "@plimsoll/protocol/api";
import type { BackupTable } from "@plimsoll/protocol/backup";
import pg from "pg";
import { PROJECT_TABLES } from "../../tenants/projects/delete-step.ts";

/** The tables that a backup leaves out, and why. */
export const LEFT_OUT: Readonly<Record<string, string>> = {
  browser_sessions:
    "a stolen backup must not log anybody in, and a login belongs to the server that granted it",
  login_links: "a stolen backup must not log anybody in",
  ended_sign_ins: "a sign-in takes ten minutes",
  machine_logins: "a machine that waits for a person asks the server that is running",
  projectors: "a lease belongs to a process that is running",
  alert_evaluators: "a lease belongs to a process that is running",
  _prisma_migrations: "the manifest names the migrations, and the server that restores has its own",
};

/** The tables that a backup contains, in their order. A new table belongs here or in `LEFT_OUT`. */
export const BACKED_UP: readonly string[] = [
  "projects",
  "people",
  "project_roles",
  "passkeys",
  ...Object.keys(PROJECT_TABLES),
  "audit_entries",
].filter((table) => !(table in LEFT_OUT));

/**
 * Rows that a server makes by itself, as SQL: with them alone it is still empty. A restore replaces them by those of the
 * backup.
 */
export const OWN_ROWS: Readonly<Record<string, string>> = {
  projects: `id = ${DEFAULT_PROJECT_ID}`,
  audit_entries: "true",
};

/** The names as SQL. */
export const BACKED_UP_NAMES = BACKED_UP.map((table) => pg.escapeIdentifier(table)).join(", ");

/** A table of this database, with the sequence of each column that counts by itself. */
export interface StoredTable extends Omit<BackupTable, "sequences"> {
  /** Names of sequences as SQL. */
  sequences: { column: string; sequence: string }[];
}

const COLUMNS = `
SELECT t.name AS "table", a.attname AS name, format_type(a.atttypid, a.atttypmod) AS type,
  pg_get_serial_sequence(quote_ident(t.name), a.attname) AS sequence
FROM unnest($1::text[]) WITH ORDINALITY AS t (name, place)
JOIN pg_attribute a ON a.attrelid = to_regclass(quote_ident(t.name))
WHERE a.attnum > 0 AND NOT a.attisdropped AND a.attgenerated = ''
ORDER BY t.place, a.attnum`;

/** Reads what the tables in `BACKED_UP` look like. */
export async function describeTables(client: pg.Client): Promise<StoredTable[]> {
  const { rows } = await client.query<{ table: string; name: string; type: string; sequence: string | null }>(
    COLUMNS,
    [BACKED_UP],
  );
  const tables = new Map<string, StoredTable>();
  for (const { table, name, type, sequence } of rows) {
    const known = tables.get(table) ?? { name: table, columns: [], sequences: [] };
    tables.set(table, known);
    known.columns.push({ name, type });
    if (sequence !== null) known.sequences.push({ column: name, sequence });
  }
  return [...tables.values()];
}

/** Names of the migrations that made the tables, in order. */
export async function readMigrationNames(client: pg.Client): Promise<string[]> {
  const { rows } = await client.query<{ name: string }>(
    `SELECT migration_name AS name FROM _prisma_migrations
     WHERE finished_at IS NOT NULL AND rolled_back_at IS NULL ORDER BY migration_name COLLATE "C"`,
  );
  return rows.map(({ name }) => name);
}

/** A table with its columns, as COPY names them. */
export function copyTarget({ name, columns }: Pick<StoredTable, "name" | "columns">): string {
  const list = columns.map((column) => pg.escapeIdentifier(column.name)).join(", ");
  return `${pg.escapeIdentifier(name)} (${list})`;
}
