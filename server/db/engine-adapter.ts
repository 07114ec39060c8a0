import { randomUUID } from "node:crypto";
import { PrismaPg } from "@prisma/adapter-pg";
import {
  ColumnTypeEnum,
  type SqlDriverAdapter,
  type SqlMigrationAwareDriverAdapterFactory,
} from "@prisma/driver-adapter-utils";
import pg from "pg";

/** Type numbers of PostgreSQL: "char" is used in its own catalogue only. */
const CHAR = 18;
const TEXT = 25;

/**
 * Connects Prisma's schema engine to the database at `url`. Prisma's own adapter does three things in a way
 * that does not suit migrations, and they are replaced here:
 * - it cuts a script at every `;`, in functions, strings and comments too, and runs the pieces one by one;
 *   here a script is sent whole, and PostgreSQL runs it in one transaction;
 * - it does not know the type "char", which the engine reads from the catalogue;
 * - its shadow database is the real one when the connection is given as a URL.
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

/** Which columns of a result were of the type "char". */
const charColumns = new WeakMap<object, number[]>();

class EnginePool extends pg.Pool {
  // The base has a dozen overloads; Prisma uses only the one that gives a promise.
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
  // No idle timer: a timer left over would keep the process alive.
  const pool = new EnginePool({
    connectionString: url,
    max: 2,
    connectionTimeoutMillis: 10_000,
    idleTimeoutMillis: 0,
  });
  pool.on("error", () => {});
  const adapter = await new PrismaPg(pool).connect();
  adapter.executeScript = async (script) => {
    // `onError` turns what pg throws into the form the engine can tell a person.
    await pool
      .query(script)
      .catch((error) => (adapter as unknown as { onError(e: unknown): never }).onError(error));
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

async function run(url: string, sql: string): Promise<void> {
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  await client.query(sql).finally(() => client.end());
}
