import type { DatabaseOutageView } from "@plimsoll/protocol/api";
import pg from "pg";
import type { Logger } from "pino";
import { PlimsollError } from "../errors.ts";
import { connectionOptions } from "./connections.ts";
import { reasonInWords, type UnavailableReason, unavailableReason } from "./unavailable.ts";
import { CLOSE_LIMIT, within } from "./within.ts";

/** Milliseconds between two pings. */
const PING_EVERY_MS = 1_000;
/** The same during an outage, so that reads are possible soon after it. */
const PING_AGAIN_MS = 250;
/** Milliseconds a ping may take. A page says within 5 s that the database does not answer. */
const PATIENCE_MS = 1_500;
/** Milliseconds after that in which a busy event loop reads an answer that has arrived already. */
const READ_MS = 250;

/** Failures of a ping that mean that readers get no answer either. */
const NO_ANSWER: ReadonlySet<UnavailableReason> = new Set([
  "no_answer",
  "timeout",
  "pool_timeout",
  "connection",
  "starting",
  "login_refused",
]);

export interface DatabaseWatch {
  /** Undefined while the database answers. */
  outage(): DatabaseOutageView | undefined;
  /** The error for a request that an outage fails; undefined while the database answers. */
  failure(): PlimsollError | undefined;
  /** The result of a read, or `failure` if an outage begins first. The read itself goes on. */
  during<T>(read: Promise<T>): Promise<T>;
  /** Calls back when an outage begins or ends. */
  onChange(listener: () => void): () => void;
  stop(): Promise<void>;
}

export interface DatabaseWatchOptions {
  /** Resolves when the database answers. */
  ping(): Promise<unknown>;
  /** A clock that never jumps, ms. */
  now?: () => number;
  everyMs?: number;
  patienceMs?: number;
  end?: () => Promise<unknown>;
}

/** Asks the database once a second whether it answers, so that requests need not wait to find out. */
export function watchDatabase(options: DatabaseWatchOptions): DatabaseWatch {
  const { ping, now = () => performance.now(), everyMs = PING_EVERY_MS, patienceMs = PATIENCE_MS } = options;
  const listeners = new Set<() => void>();
  let current: { reason: UnavailableReason; since: number } | undefined;
  let stopped = false;
  let timer: NodeJS.Timeout | undefined;
  let late: NodeJS.Timeout | undefined;

  function set(reason: UnavailableReason | undefined, startedAt: number): void {
    const before = current;
    // The first reason stays: what fails later, such as a new connection, follows from it.
    current = reason === undefined ? undefined : (before ?? { reason, since: startedAt });
    if (before === current) return;
    for (const listener of listeners) listener();
  }

  async function round(): Promise<void> {
    const startedAt = now();
    late = setTimeout(() => {
      late = setTimeout(() => set("no_answer", startedAt), READ_MS);
    }, patienceMs);
    const reason = await ping().then(
      () => undefined,
      (error: unknown) => unavailableReason(error) ?? "connection",
    );
    clearTimeout(late);
    if (stopped) return;
    set(reason !== undefined && NO_ANSWER.has(reason) ? reason : undefined, startedAt);
    timer = setTimeout(
      () => void round(),
      current === undefined ? everyMs : Math.min(everyMs, PING_AGAIN_MS),
    );
    timer.unref();
  }
  void round();

  const outage = () =>
    current && {
      message: reasonInWords(
        current.reason === "timeout" || current.reason === "pool_timeout" ? "no_answer" : current.reason,
      ),
      for_ms: Math.max(0, Math.round(now() - current.since)),
    };
  function failure(): PlimsollError | undefined {
    const known = outage();
    if (known === undefined) return undefined;
    const details = { retry_after_seconds: 1 };
    return new PlimsollError("database_unreachable", `${known.message} Try again.`, { details });
  }
  function onChange(listener: () => void): () => void {
    listeners.add(listener);
    return () => void listeners.delete(listener);
  }
  return {
    outage,
    failure,
    onChange,
    during(read) {
      return new Promise((resolve, reject) => {
        const forget = onChange(() => {
          const error = failure();
          if (error === undefined) return;
          forget();
          reject(error);
        });
        read.finally(forget).then(resolve, reject);
      });
    },
    async stop() {
      stopped = true;
      clearTimeout(timer);
      clearTimeout(late);
      listeners.clear();
      await options.end?.();
    },
  };
}

/** The watch of the database at `url`, on a connection of its own: busy pools cannot delay it. */
export function openDatabaseWatch({ url, log }: { url: string; log: Logger }): DatabaseWatch {
  const pool = new pg.Pool({ ...connectionOptions(url, "control"), max: 1 });
  pool.on("error", (err) => log.debug({ err }, "the connection that watches the database was lost"));
  pool.on("connect", (client) => client.on("error", () => {}));
  const watch = watchDatabase({
    ping: () => pool.query("SELECT 1"),
    end: () => within(CLOSE_LIMIT, pool.end()).catch(() => {}),
  });
  watch.onChange(() => {
    const outage = watch.outage();
    if (outage === undefined) log.info("the database answers again");
    else log.warn({ reason: outage.message }, "the database does not answer; reads fail until it does");
  });
  return watch;
}
