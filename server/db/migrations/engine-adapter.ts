import { randomUUID } from "node:crypto";
import { PrismaPg } from "@prisma/adapter-pg";
import {
  ColumnTypeEnum,
  type SqlDriverAdapter,
  type SqlMigrationAwareDriverAdapterFactory,
} from "@prisma/driver-adapter-utils";
import pg from "pg";

/** Advisory lock of the transaction that runs a script. */
export const SCRIPT_LOCK = 0x504c4d53;

/**
 * Notes in a migration's own transaction that it is finished. The engine notes it afterwards, too late if the process is
 * killed in between. Scripts on a shadow database have no table to note it in.
 */
const FINISHED = `
DO $$ BEGIN
  IF to_regclass('_prisma_migrations') IS NOT NULL THEN
    UPDATE _prisma_migrations SET finished_at = now()
    WHERE finished_at IS NULL AND rolled_back_at IS NULL AND logs IS NULL;
  END IF;
END $$`;

/** Everything in which a semicolon ends no statement, and the semicolon. */
const SEMICOLON =
  /--[^\n]*|\/\*[\s\S]*?\*\/|E'(?:[^'\\]|\\[\s\S]|'')*'|'(?:[^']|'')*'|"(?:[^"]|"")*"|\$(\w*)\$[\s\S]*?\$\1\$|(;)/gi;

/** Divides a script into its statements. */
export function statementsOf(script: string): string[] {
  const statements: string[] = [];
  let start = 0;
  for (const { 2: semicolon, index } of script.matchAll(SEMICOLON)) {
    if (semicolon === undefined) continue;
    statements.push(script.slice(start, index));
    start = index + 1;
  }
  return [...statements, script.slice(start)].filter((statement) => statement.trim() !== "");
}

/** Type OIDs of PostgreSQL. Only its catalog uses "char". */
const CHAR = 18;
const TEXT = 25;

/**
 * Connects Prisma's schema engine to the database at `url`. Replaces three things in Prisma's adapter:
 * - it splits a script at every `;`, also inside functions, strings and comments, and commits each part by itself. Here
 *   the whole script is one transaction, which also notes that it is finished. Statements are sent one by one, because
 *   Citus sends the text around a CREATE INDEX to its workers
 * - it does not know the type "char", which the engine reads from the catalog
 * - given a URL, it uses the real database as its shadow database
 */
export function engineAdapterFactory(url: string): SqlMigrationAwareDriverAdapterFactory {
  return {
    provider: "postgres",
    adapterName: "@prisma/adapter-pg",
    connect: () => connect(url, async () => {}),
    async connectToShadowDb() {
      const name = `plimsoll_shadow_${randomUUID().replaceAll("-", "")}`;
      const shadow = new URL(url);
      shadow.pathname = `/${name}`;
      await run(url, `CREATE DATABASE ${name}`);
      return connect(shadow.href, () => run(url, `DROP DATABASE IF EXISTS ${name} WITH (FORCE)`));
    },
  };
}

/** The indexes of the columns of type "char" in a result. */
const charColumns = new WeakMap<object, number[]>();

class EnginePool extends pg.Pool {
  // The base class has a dozen overloads. Prisma uses only the one that returns a promise.
  // biome-ignore lint/suspicious/noExplicitAny: the arguments are passed on untouched
  override async query(...args: any[]): Promise<any> {
    const result = await (super.query as (...args: unknown[]) => Promise<pg.QueryArrayResult>)(...args);
    const found: number[] = [];
    for (const [i, field] of (result.fields ?? []).entries()) {
      if (field.dataTypeID !== CHAR) continue;
      field.dataTypeID = TEXT;
      found.push(i);
    }
    if (found.length > 0) charColumns.set(result.rows, found);
    return result;
  }
}

async function connect(url: string, afterwards: () => Promise<void>): Promise<SqlDriverAdapter> {
  // No idle timer: it would keep the process alive.
  const pool = new EnginePool({
    connectionString: url,
    max: 2,
    connectionTimeoutMillis: 10_000,
    idleTimeoutMillis: 0,
  });
  pool.on("error", () => {});
  const adapter = await new PrismaPg(pool).connect();
  adapter.executeScript = async (script) => {
    // `onError` converts errors of pg into the form that the engine reports.
    await inTransaction(pool, [
      `SELECT pg_advisory_xact_lock(${SCRIPT_LOCK})`,
      ...statementsOf(script),
      FINISHED,
    ]).catch((error) => (adapter as unknown as { onError(e: unknown): never }).onError(error));
  };
  const queryRaw = adapter.queryRaw.bind(adapter);
  adapter.queryRaw = async (query) => {
    const result = await queryRaw(query);
    for (const i of charColumns.get(result.rows) ?? []) result.columnTypes[i] = ColumnTypeEnum.Character;
    return result;
  };
  adapter.dispose = async () => {
    if (!pool.ended) await pool.end();
    await afterwards();
  };
  return adapter;
}

async function inTransaction(pool: pg.Pool, statements: readonly string[]): Promise<void> {
  const client = await pool.connect();
  let broken = true;
  try {
    for (const statement of ["BEGIN", ...statements, "COMMIT"]) await client.query(statement);
    broken = false;
  } finally {
    // PostgreSQL rolls back when a connection ends.
    client.release(broken);
  }
}

async function run(url: string, sql: string): Promise<void> {
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  await client.query(sql).finally(() => client.end());
}
