import { PrismaPg } from "@prisma/adapter-pg";
import type { Logger } from "pino";
import { connectionOptions } from "./connections.ts";
import { PrismaClient } from "./generated/client.ts";
import { statementNames } from "./prepared-statements.ts";

export type { PrismaClient } from "./generated/client.ts";
export { Prisma } from "./generated/client.ts";

/** What Prisma gives an interactive transaction. */
export type Transaction = Parameters<Parameters<PrismaClient["$transaction"]>[0]>[0];

/** Milliseconds to wait for a connection, and until the end. On a starved machine, the usual 2 and 5 s are too short. */
const TRANSACTIONS = { maxWait: 10_000, timeout: 60_000 };

/** Statements that each connection keeps prepared. Lists of varying length would otherwise add more without end. */
const PREPARED_LIMIT = 500;

/**
 * Opens the typed client on a pool of its own. It connects with the first query, and again after the database
 * was away. Close it with `$disconnect()`.
 * @param options.poolSize the most connections it opens
 */
export function openDatabase(options: {
  url: string;
  poolSize: number;
  log: Logger;
  purpose?: "reads" | "control";
}): PrismaClient {
  const { url, poolSize, log, purpose = "reads" } = options;
  const nameOf = statementNames(PREPARED_LIMIT);
  const adapter = new PrismaPg(
    { ...connectionOptions(url, purpose), max: poolSize, idleTimeoutMillis: 60_000 },
    {
      statementNameGenerator: ({ sql }) => nameOf(sql),
      onPoolError: (err) => log.warn({ err }, "an idle database connection was lost"),
      onConnectionError: (err) => log.warn({ err }, "a database connection was lost"),
    },
  );
  return new PrismaClient({ adapter, transactionOptions: TRANSACTIONS });
}
