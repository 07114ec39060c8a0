import { LRUCache } from "lru-cache";
import type { Logger } from "pino";
import { PlimsollError } from "../../errors.ts";

/** Failures of one client in a minute, after which it has to wait. */
const MOST = 30;
const WINDOW_MS = 60_000;
/** Clients remembered at a time. */
const CLIENTS = 10_000;

/**
 * Slows down clients that present wrong credentials. It is asked only about failures: what is right is never refused, or
 * anybody could lock the owner out. Credentials have 256 random bits, so there is nothing to guess; this keeps noise away.
 */
export interface Throttle {
  /**
   * Notes a failure.
   * @param client its address
   * @returns the error to answer with: `failure`, or `quota_exceeded` with `details.retry_after_seconds` after 30 failures
   * in a minute
   */
  failed(client: string, failure: PlimsollError): PlimsollError;
  /**
   * For a secret that a person chose: whether a client has to wait, whatever it brings.
   * @throws PlimsollError `quota_exceeded` after as many failures
   */
  check(client: string): void;
}

/** @param what for the log and the answer, such as "keys" */
export function createThrottle(what: string, log: Logger, now: () => number = Date.now): Throttle {
  const tooMany = (client: string, endsAt: number, more: string) => {
    const seconds = Math.max(1, Math.ceil((endsAt - now()) / 1_000));
    return new PlimsollError(
      "quota_exceeded",
      `Too many wrong ${what} from ${client}: more than ${MOST} in a minute. Try again in ${seconds} s.${more}`,
      { details: { retry_after_seconds: seconds } },
    );
  };
  const windows = new LRUCache<string, { count: number; endsAt: number }>({ max: CLIENTS });
  return {
    failed(client, failure) {
      let window = windows.get(client);
      if (window === undefined || window.endsAt <= now()) {
        window = { count: 0, endsAt: now() + WINDOW_MS };
        windows.set(client, window);
      }
      window.count += 1;
      if (window.count <= MOST) return failure;
      if (window.count === MOST + 1)
        log.warn({ client, until: window.endsAt }, `too many wrong ${what}; the client is told to wait`);
      return tooMany(client, window.endsAt, ` ${failure.message}`);
    },
    check(client) {
      const window = windows.get(client);
      if (window !== undefined && window.endsAt > now() && window.count >= MOST)
        throw tooMany(client, window.endsAt, "");
    },
  };
}
