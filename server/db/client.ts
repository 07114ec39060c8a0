import { PrismaPg } from "@prisma/adapter-pg";
import type { Logger } from "pino";
import { PrismaClient } from "./generated/client.ts";

export type { PrismaClient } from "./generated/client.ts";
export { Prisma } from "./generated/client.ts";

/** Statements each connection keeps prepared. Lists of varying length would otherwise fill it for ever. */
const PREPARED_LIMIT = 500;

/**
 * The typed client on a pool of its own. It connects with the first query, and again after the database
 * went away. Close it with `$disconnect()`.
 */
export function openDatabase(options: { url: string; poolSize: number; log: Logger }): PrismaClient {
  const { url, poolSize, log } = options;
  const adapter = new PrismaPg(
    {
      connectionString: url,
      max: poolSize,
      application_name: "plimsoll",
      // Milliseconds. Waiting for a connection for ever would hide an overload.
      connectionTimeoutMillis: 10_000,
      idleTimeoutMillis: 60_000,
      keepAlive: true,
    },
    {
      statementNameGenerator: statementNames(PREPARED_LIMIT),
      onPoolError: (err) => log.warn({ err }, "an idle database connection was lost"),
      onConnectionError: (err) => log.warn({ err }, "a database connection was lost"),
    },
  );
  return new PrismaClient({ adapter });
}

/** Names the first `limit` statements, so that they are parsed once a connection; later ones get none. */
export function statementNames(limit: number): (query: { sql: string }) => string {
  const names = new Map<string, string>();
  return ({ sql }) => {
    const known = names.get(sql);
    if (known !== undefined) return known;
    if (names.size >= limit) return "";
    const name = `p${names.size}`;
    names.set(sql, name);
    return name;
  };
}
