import { setTimeout as sleep } from "node:timers/promises";
import { backoffMs } from "@plimsoll/protocol/pure";
import pg from "pg";
import type { Logger } from "pino";
import { connectionOptions } from "../db/connections.ts";

const RETRY = { firstMs: 100, mostMs: 10_000 };
/** How often a silent connection is asked whether it is still there. */
const PING_EVERY_MS = 30_000;

export interface ListenerOptions {
  connectionString: string;
  channel: string;
  log: Logger;
  onMessage(payload: string): void;
  /** After every successful LISTEN, the first as well. What was sent before it is lost. */
  onConnected(): void;
  /** After a connection that had succeeded is gone. */
  onLost(): void;
}

export interface Listener {
  /** @returns false when it could not be sent. Never throws. */
  notify(payload: string): Promise<boolean>;
  connected(): boolean;
  /** Resolves with the first LISTEN. */
  ready: Promise<void>;
  stop(): Promise<void>;
}

/** One connection that listens on one channel, for as long as the process lives. */
export function openListener(options: ListenerOptions): Listener {
  const { connectionString, channel, log, onMessage, onConnected, onLost } = options;
  const stopping = new AbortController();
  let client: pg.Client | undefined;
  let markReady: () => void;
  const ready = new Promise<void>((resolve) => {
    markReady = resolve;
  });

  async function connect(): Promise<{ fresh: pg.Client; lost: Promise<void> }> {
    const options = connectionOptions(connectionString, "listen");
    const fresh = new pg.Client(options);
    const lost = new Promise<void>((resolve) => {
      // Without a listener for errors, losing the connection would end the process.
      fresh.on("error", () => resolve());
      fresh.on("end", () => resolve());
    });
    fresh.on("notification", ({ payload }) => onMessage(payload ?? ""));
    try {
      await fresh.connect();
      await options.onConnect(fresh);
      await fresh.query(`LISTEN ${channel}`);
    } catch (error) {
      void close(fresh);
      throw error;
    }
    return { fresh, lost };
  }

  /** Ends when the connection is lost, or does not answer. A cable pulled out says nothing by itself. */
  async function watch(fresh: pg.Client, lost: Promise<void>): Promise<void> {
    for (;;) {
      const pause = new AbortController();
      const timeUp = sleep(PING_EVERY_MS, "time", { signal: pause.signal, ref: false }).catch(() => "time");
      const first = await Promise.race([lost.then(() => "lost"), timeUp]);
      pause.abort();
      if (first === "lost") return;
      const alive = await fresh.query("SELECT 1").then(
        () => true,
        () => false,
      );
      if (!alive) return;
    }
  }

  async function run(): Promise<void> {
    let failures = 0;
    while (!stopping.signal.aborted) {
      try {
        const { fresh, lost } = await connect();
        if (stopping.signal.aborted) return void (await close(fresh));
        client = fresh;
        failures = 0;
        onConnected();
        markReady();
        await watch(fresh, lost);
        client = undefined;
        void close(fresh);
        onLost();
        if (!stopping.signal.aborted) log.warn("the connection for live changes was lost; connecting again");
      } catch (err) {
        log.warn({ err }, "no connection for live changes");
      }
      failures += 1;
      const wait = backoffMs(failures, RETRY, Math.random());
      await sleep(wait, undefined, { signal: stopping.signal, ref: false }).catch(() => {});
    }
  }

  const running = run();

  return {
    async notify(payload) {
      const through = client;
      if (!through) return false;
      try {
        await through.query("SELECT pg_notify($1, $2)", [channel, payload]);
        return true;
      } catch (err) {
        log.debug({ err }, "a live change could not be sent");
        return false;
      }
    },
    connected: () => client !== undefined,
    ready,
    async stop() {
      stopping.abort();
      const last = client;
      client = undefined;
      // Waits for what was sent just now: queries of one connection are answered in order.
      if (last) await close(last);
      await running;
    },
  };
}

/** `end()` waits for a server that may be gone for good. */
async function close(client: pg.Client): Promise<void> {
  const ended = client.end().catch(() => {});
  await Promise.race([ended, sleep(1_000, undefined, { ref: false })]);
}
