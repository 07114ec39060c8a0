import { createHash } from "node:crypto";
import type { Logger } from "pino";
import { v7 as uuid } from "uuid";
import type { PrismaClient } from "../../db/client.ts";
import { HOUR_MS } from "../../times.ts";
import { storableAddress } from "./entry.ts";

export interface FailedLoginsOptions {
  prisma: Pick<PrismaClient, "$executeRaw">;
  log: Logger;
  /** Epoch milliseconds. */
  now: () => number;
  /** Milliseconds between two writes. */
  everyMs?: number;
}

/** Clients of one hour that get a row of their own in one process. All others share a row without an address. */
export const MOST_CLIENTS = 200;
const EVERY_MS = 10_000;

interface Counted {
  id: string;
  /** The first failure, in epoch milliseconds. */
  at: number;
  address: string | null;
  count: number;
}

/** Counts failed logins in one row for each client and hour, so that a flood of them writes little. */
export function createFailedLogins({ prisma, log, now, everyMs = EVERY_MS }: FailedLoginsOptions) {
  let hour = 0;
  const clients = new Set<string>();
  /** By id. */
  let pending = new Map<string, Counted>();
  let timer: NodeJS.Timeout | undefined;
  let writing: Promise<void> = Promise.resolve();

  function addressOf(client: string): string | null {
    if (!clients.has(client) && clients.size >= MOST_CLIENTS) return null;
    clients.add(client);
    return storableAddress(client);
  }

  /** Several processes add to the same row. */
  async function write(): Promise<void> {
    const rows = [...pending.values()];
    if (rows.length === 0) return;
    pending = new Map();
    try {
      await prisma.$executeRaw`
        INSERT INTO audit_entries (id, at, action, actor, address, count)
        SELECT id, to_timestamp(at / 1000), 'login_failed', 'visitor', address, count
        FROM unnest(${rows.map(({ id }) => id)}::uuid[], ${rows.map(({ at }) => at)}::float8[],
          ${rows.map(({ address }) => address)}::text[], ${rows.map(({ count }) => count)}::int4[])
          AS failed (id, at, address, count)
        ON CONFLICT (id) DO UPDATE SET count = LEAST(audit_entries.count::int8 + EXCLUDED.count, 2147483647)`;
    } catch (err) {
      log.error({ err }, "failed logins could not be added to the audit log and will be added later");
      for (const row of rows) add(row);
    }
  }

  function add(row: Counted): void {
    const same = pending.get(row.id);
    if (same === undefined) pending.set(row.id, row);
    else same.count += row.count;
  }

  function flush(): Promise<void> {
    writing = writing.then(write);
    return writing;
  }

  function onTimer(): void {
    timer = undefined;
    if (pending.size === 0) return;
    void flush();
    schedule(everyMs);
  }

  function schedule(ms: number): void {
    timer ??= setTimeout(onTimer, ms).unref();
  }

  return {
    /** @param client its address */
    note(client: string): void {
      const at = now();
      const begin = at - (at % HOUR_MS);
      if (begin !== hour) {
        hour = begin;
        clients.clear();
      }
      const address = addressOf(client);
      add({ id: rowId(begin, address), at, address, count: 1 });
      // The first one is written at once, and what follows soon after in one statement.
      schedule(0);
    },

    /** Writes what is counted. */
    flush,

    async stop(): Promise<void> {
      clearTimeout(timer);
      await flush();
    },
  };
}

/** The same in every process: a version 7 UUID of the hour, with a hash of the address as its random part. */
function rowId(hour: number, address: string | null): string {
  const hash = createHash("sha256").update(`login_failed ${address}`).digest();
  return uuid({ msecs: hour, seq: hash.readUInt32BE(0), random: hash.subarray(4, 20) });
}
