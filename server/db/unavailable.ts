/** Prisma's and the driver's ways of saying that the database cannot be talked to now. */
const CODES = new Set([
  "P1001",
  "P1002",
  "P1008",
  "P1017",
  "P2024",
  "P2028",
  "ECONNREFUSED",
  "ECONNRESET",
  "EPIPE",
  "ETIMEDOUT",
  "EHOSTUNREACH",
  "ENETUNREACH",
  "EAI_AGAIN",
  // The socket of a PostgreSQL that is not running.
  "ENOENT",
  // Kinds of the driver's adapter, which keeps no code for them.
  "DatabaseNotReachable",
  "ConnectionClosed",
  "SocketTimeout",
  "TooManyConnections",
]);
/** Connection lost, out of resources, stopping or starting, in conflict, a standby. */
const STATES = /^(08|53|57P|25006)/;
const MESSAGES =
  /(ECONN|EPIPE|Connection terminated|Connection ended|connection timeout|connection error|not queryable|Can't reach database|not yet accepting|terminating connection|the database system is|Server has closed the connection)/i;

/** Two transactions that stood in each other's way; the one that was ended may simply be run again. */
const CONFLICTS = /^(40001|40P01|P2034|TransactionWriteConflict)$/;

/** Whether it failed because the database is away or overloaded: the same may well succeed a little later. */
export function isUnavailable(error: unknown): boolean {
  if (isConflict(error)) return true;
  return causes(error).some(
    ({ codes, message }) =>
      codes.some((code) => CODES.has(code) || STATES.test(code)) || MESSAGES.test(message),
  );
}

/** Whether it failed only because another transaction ran at the same time. */
export function isConflict(error: unknown): boolean {
  return causes(error).some(({ codes }) => codes.some((code) => CONFLICTS.test(code)));
}

/** What an error and all that caused it say of themselves. Prisma hides the driver's own under `meta`. */
function causes(error: unknown): { codes: string[]; message: string }[] {
  const found: { codes: string[]; message: string }[] = [];
  const rest: unknown[] = [error];
  while (rest.length > 0 && found.length < 20) {
    const at = rest.shift();
    if (typeof at !== "object" || at === null) continue;
    const { code, originalCode, kind, message, meta, cause } = at as Record<string, unknown>;
    const { code: metaCode, driverAdapterError } = (meta ?? {}) as Record<string, unknown>;
    found.push({
      codes: [code, originalCode, kind, metaCode].filter((one) => typeof one === "string"),
      message: typeof message === "string" ? message : "",
    });
    rest.push(cause, driverAdapterError);
  }
  return found;
}
