import type { Logger } from "pino";
import type { PrismaClient } from "../../db/client.ts";
import { type AuditNote, addEntry } from "./entry.ts";
import { createFailedLogins } from "./failed-logins.ts";
import { trimEntries } from "./trim.ts";

/** Who changed what. A change in a transaction of ours adds its entry there, with `addEntry`. */
export interface Audit {
  /** Adds an entry right after a change. Never rejects: the change is made, so a failure is only logged. */
  note(note: AuditNote): Promise<void>;
  /** Counts a failed login of a client, given by its address. */
  loginFailed(client: string): void;
  /** Writes what is counted. */
  stop(): Promise<void>;
}

const TRIM_EVERY_MS = 60_000;

export function openAudit(options: {
  prisma: PrismaClient;
  log: Logger;
  /** Epoch milliseconds. */
  now?: () => number;
}): Audit {
  const { prisma, log, now = Date.now } = options;
  const failedLogins = createFailedLogins({ prisma, log, now });
  const stopping = new AbortController();
  let trimming: Promise<void> | undefined;

  async function trim(): Promise<void> {
    try {
      await trimEntries(prisma, now(), { signal: stopping.signal });
    } catch (err) {
      log.warn({ err }, "the audit log was not trimmed and will be trimmed later");
    }
  }

  const timer = setInterval(() => {
    trimming ??= trim().finally(() => {
      trimming = undefined;
    });
  }, TRIM_EVERY_MS).unref();

  return {
    async note(note) {
      await addEntry(prisma, now(), note).catch((err: unknown) => {
        const { actor, action, projectId, target } = note;
        log.error({ err, actor, action, projectId, target }, "an entry is missing from the audit log");
      });
    },
    loginFailed: failedLogins.note,
    async stop() {
      clearInterval(timer);
      stopping.abort();
      await trimming;
      await failedLogins.stop();
    },
  };
}
