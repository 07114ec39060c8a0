import type { Server } from "node:http";
import type { Socket } from "node:net";
import type { Logger } from "pino";

/** Descriptors kept for the database, files and what else the process opens. */
const RESERVED = 200;
/** Milliseconds between two lines of the log. */
const LOG_MS = 60_000;
/** Milliseconds between two searches for idle connections. */
const SEARCH_MS = 100;
/** Milliseconds that a new connection has to send its first request while places are short. */
const FIRST_REQUEST_MS = 1_000;

/**
 * Keeps connections from using up the descriptors of the process: without one, it could no longer reach its database.
 * When all places are taken, connections without a request give theirs to new ones.
 * @param descriptors how many the process may have; unbounded if undefined
 */
export function limitConnections(
  server: Server,
  log: Logger,
  descriptors: number | undefined = descriptorLimit(),
): void {
  if (descriptors === undefined) return;
  const most = Math.max(50, descriptors - RESERVED);
  server.maxConnections = most;
  let loggedAt = -Infinity;
  let searchedAt = -Infinity;
  /** Connections that have not sent a request, oldest first. Node does not count them as idle. */
  const silent = new Map<Socket, number>();
  server.on("connection", (socket) => {
    silent.set(socket, performance.now());
    socket.once("close", () => silent.delete(socket));
  });
  server.on("request", (incoming) => silent.delete(incoming.socket));
  server.on("drop", () => {
    const now = performance.now();
    if (now - searchedAt >= SEARCH_MS) {
      searchedAt = now;
      server.closeIdleConnections();
      for (const [socket, since] of silent) {
        if (now - since < FIRST_REQUEST_MS) break;
        socket.destroy();
      }
    }
    if (now - loggedAt < LOG_MS) return;
    loggedAt = now;
    log.warn({ connections: most }, "too many connections at once; idle ones are closed");
  });
}

/** The soft limit on open files; undefined where there is none, or the system does not say. */
function descriptorLimit(): number | undefined {
  const report = process.report?.getReport() as
    | { userLimits?: { open_files?: { soft?: unknown } } }
    | undefined;
  const soft = report?.userLimits?.open_files?.soft;
  return typeof soft === "number" ? soft : undefined;
}
