import type { Logger } from "pino";
import type { Settings } from "../env.ts";
import { openDatabase, type PrismaClient } from "./client.ts";
import { startEmbedded } from "./embedded.ts";
import { migrate } from "./migrate.ts";
import { selfCheck } from "./self-check.ts";

export type { PrismaClient } from "./client.ts";

export interface Database {
  prisma: PrismaClient;
  /** Connection URL, for what needs a connection of its own (LISTEN). Holds a password. */
  url: string;
  mode: "embedded" | "external";
  /** Closes the pool, then leaves the embedded server. Never throws; may be repeated. */
  stop(): Promise<void>;
}

export type DatabaseSettings = Pick<
  Settings,
  "DATABASE_URL" | "DATABASE_POOL_SIZE" | "DATABASE_ALLOW_UNSAFE" | "PLIMSOLL_HOME"
>;

/**
 * Gives a checked and migrated database: the one in DATABASE_URL, or the embedded one.
 * @throws PlimsollError with a start-up code and a hint
 */
export async function startDatabase(settings: DatabaseSettings, log: Logger): Promise<Database> {
  const embedded = settings.DATABASE_URL
    ? undefined
    : await startEmbedded({ home: settings.PLIMSOLL_HOME, log });
  const url = settings.DATABASE_URL ?? embedded!.url;
  try {
    await selfCheck({ url, allowUnsafe: settings.DATABASE_ALLOW_UNSAFE, log });
    await migrate({ url, log });
  } catch (error) {
    await embedded?.stop();
    throw error;
  }
  const prisma = openDatabase({ url, poolSize: settings.DATABASE_POOL_SIZE, log });
  let stopped: Promise<void> | undefined;
  return {
    prisma,
    url,
    mode: embedded ? "embedded" : "external",
    stop() {
      stopped ??= (async () => {
        await prisma.$disconnect().catch((err) => log.warn({ err }, "closing the database pool failed"));
        await embedded?.stop();
      })();
      return stopped;
    },
  };
}
