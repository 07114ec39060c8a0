import type { Logger } from "pino";
import type { Settings } from "../settings.ts";
import { openDatabase, type PrismaClient } from "./client.ts";
import { migrate } from "./migrations/migrate.ts";
import { startEmbedded } from "./postgres/embedded.ts";
import { selfCheck } from "./self-check.ts";
import { throwIfStopped } from "./stopped.ts";
import type { UnavailableReason } from "./unavailable.ts";
import { CLOSE_LIMIT, within } from "./within.ts";
import { probeWrite } from "./write-probe.ts";

export type { PrismaClient } from "./client.ts";

/** Few and short statements share them. */
const CONTROL_CONNECTIONS = 3;

export interface Database {
  /** For pages, the REST API and exports. */
  prisma: PrismaClient;
  /** For keys, browser sessions and readiness: reads cannot take its connections. */
  control: PrismaClient;
  /** Connection URL for connections outside the pool, such as LISTEN. Contains a password. */
  url: string;
  mode: "embedded" | "external";
  /** Tries to write. @returns why it cannot; undefined when it can. Never rejects; takes 5 s at most */
  probeWrite(): Promise<UnavailableReason | undefined>;
  /** Closes the pools, then leaves the embedded server. Never throws; may be repeated. */
  stop(): Promise<void>;
}

export type DatabaseSettings = Pick<
  Settings,
  "DATABASE_URL" | "DATABASE_POOL_SIZE" | "DATABASE_ALLOW_UNSAFE" | "PLIMSOLL_HOME"
>;

/**
 * Opens the database in DATABASE_URL, or the embedded one, after checking and migrating it.
 * @param signal ends a start that is under way; a server that the start has launched is stopped
 * @throws PlimsollError with a start-up code and a hint; `stopped` when the signal is given
 */
export async function startDatabase(
  settings: DatabaseSettings,
  log: Logger,
  signal: AbortSignal = new AbortController().signal,
): Promise<Database> {
  const embedded = settings.DATABASE_URL
    ? undefined
    : await startEmbedded({ home: settings.PLIMSOLL_HOME, log, signal });
  const url = settings.DATABASE_URL ?? embedded!.url;
  try {
    throwIfStopped(signal);
    await selfCheck({ url, allowUnsafe: settings.DATABASE_ALLOW_UNSAFE, log });
    await migrate({ url, log, signal });
    throwIfStopped(signal);
  } catch (error) {
    await embedded?.stop();
    throw error;
  }
  const prisma = openDatabase({ url, poolSize: settings.DATABASE_POOL_SIZE, log });
  const control = openDatabase({ url, poolSize: CONTROL_CONNECTIONS, log, purpose: "control" });
  let stopped: Promise<void> | undefined;
  return {
    prisma,
    control,
    url,
    async probeWrite() {
      const reason = await probeWrite(control);
      // A full disk also keeps the embedded server from starting again.
      const down = reason === "connection" || reason === "starting";
      return down && embedded?.problem()?.code === "disk_full" ? "disk_full" : reason;
    },
    mode: embedded ? "embedded" : "external",
    stop() {
      stopped ??= (async () => {
        const pools = [prisma, control].map((pool) => pool.$disconnect());
        await within(CLOSE_LIMIT, Promise.all(pools)).catch((err) =>
          log.warn({ err }, "connections to the database did not close in time; leaving them"),
        );
        await embedded?.stop();
      })();
      return stopped;
    },
  };
}
