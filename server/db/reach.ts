import { PlimsollError } from "../errors.ts";

/** A connection URL without its password, for messages. */
export function shownUrl(url: string): string {
  const shown = new URL(url);
  if (shown.password) shown.password = "***";
  return shown.href;
}

const TRY_EMBEDDED = "Or unset DATABASE_URL to use the embedded PostgreSQL.";

/**
 * Turns the failure of a first connection into `database_unreachable` with a hint. Returns any other error
 * unchanged.
 */
export function explainUnreachable(error: unknown, url: string): unknown {
  if (error instanceof PlimsollError) return error;
  const { hostname, port, pathname, username } = new URL(url);
  const host = `${hostname || "localhost"}:${port || 5432}`;
  const [what, hint] = reasonOf(error, { host, name: pathname.slice(1), user: username }) ?? [];
  if (!what) return error;
  return new PlimsollError("database_unreachable", `${what} (${shownUrl(url)}).`, {
    cause: error,
    hint: `${hint} ${TRY_EMBEDDED}`,
  });
}

interface Target {
  host: string;
  name: string;
  user: string;
}

function reasonOf(error: unknown, { host, name, user }: Target): [string, string] | undefined {
  const { code, message } = mostTelling(error);
  switch (code) {
    case "ECONNREFUSED":
    case "ENOENT":
      return [
        `Nothing answers at ${host}`,
        "Start PostgreSQL there, or correct the host and port in DATABASE_URL.",
      ];
    case "ENOTFOUND":
    case "EAI_AGAIN":
      return [`The host name in ${host} does not resolve`, "Correct the host in DATABASE_URL."];
    case "ETIMEDOUT":
    case "EHOSTUNREACH":
    case "ENETUNREACH":
      return [`${host} does not answer`, "Check the network and the firewall between here and there."];
    case "28P01":
    case "28000":
      return [`PostgreSQL at ${host} refuses the user ${user}`, `It says: ${message}. Correct DATABASE_URL.`];
    case "3D000":
      return [`The database ${name} does not exist at ${host}`, `Create it: CREATE DATABASE "${name}".`];
    case "53300":
      return [
        `PostgreSQL at ${host} has no connection left`,
        "Lower DATABASE_POOL_SIZE or raise max_connections.",
      ];
    case "57P03":
      return [`PostgreSQL at ${host} is starting or stopping`, "Try again in a moment."];
  }
  if (/timeout/i.test(message))
    return [`${host} does not answer in time`, "Check the network and the host's load."];
  if (/SSL/.test(message)) return [`${host} and DATABASE_URL disagree about TLS`, `It says: ${message}.`];
  if (/terminated unexpectedly|ECONNRESET/.test(message)) {
    return [`${host} closed the connection`, "Check that this is PostgreSQL's port."];
  }
  return undefined;
}

/** For a name with several addresses, Node reports an AggregateError. */
function mostTelling(error: unknown): { code: string; message: string } {
  const first = error instanceof AggregateError ? error.errors[0] : error;
  const { code = "", message = "" } = (first ?? {}) as { code?: string; message?: string };
  return { code, message };
}
