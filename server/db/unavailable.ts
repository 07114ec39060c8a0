/** Prisma's and the driver's ways of saying that the database cannot be talked to now. */
const CODES = new Set([
  "P1001",
  "P1002",
  "P1008",
  "P1017",
  "P2024",
  "P2028",
  "P2034",
  "ECONNREFUSED",
  "ECONNRESET",
  "EPIPE",
  "ETIMEDOUT",
  "EHOSTUNREACH",
  "ENETUNREACH",
  "EAI_AGAIN",
  // The socket of a PostgreSQL that is not running.
  "ENOENT",
]);
/** Connection lost, out of resources, stopping or starting, in conflict, a standby. */
const STATES = /^(08|53|57P|25006)/;
const MESSAGES =
  /(ECONN|EPIPE|Connection terminated|Connection ended|connection timeout|connection error|not queryable|Can't reach database|not yet accepting|terminating connection|the database system is|Server has closed the connection)/i;

/** Two transactions that stood in each other's way; the one that was ended may simply be run again. */
const CONFLICTS = /^(40001|40P01)$/;

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

function causes(error: unknown): { codes: string[]; message: string }[] {
  const found: { codes: string[]; message: string }[] = [];
  for (let at: unknown = error; typeof at === "object" && at !== null && found.length < 10; ) {
    const { code, message, meta, cause } = at as Record<"code" | "message" | "meta" | "cause", unknown>;
    const codes = [code, (meta as { code?: unknown } | undefined)?.code];
    found.push({
      codes: codes.filter((one) => typeof one === "string"),
      message: typeof message === "string" ? message : "",
    });
    at = cause;
  }
  return found;
}
