import type { PrismaClient } from "../db/client.ts";
import type { Sql } from "../db/sql.ts";

/** The statements of the write path over the typed client. */
export function sqlOfClient(client: Pick<PrismaClient, "$queryRawUnsafe" | "$executeRawUnsafe">): Sql {
  return {
    query: (text, ...values) => client.$queryRawUnsafe(text, ...values),
    execute: (text, ...values) => client.$executeRawUnsafe(text, ...values),
  };
}
