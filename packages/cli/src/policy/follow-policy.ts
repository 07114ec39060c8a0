import type { PolicyAnswer } from "@plimsoll/protocol";
import type { ServerEvent } from "../../../guard/src/http/message-parser.ts";
import type { Connection } from "../connection.ts";
import { CliError } from "../errors.ts";
import { followLive } from "../live-stream.ts";
import { request } from "../request.ts";
import { sleep } from "../sleep.ts";
import { fetchPolicy, type PolicyReader, PolicyUnavailable } from "./fetch-policy.ts";

/** How often the policy is read without a stream, in ms. */
const POLL_MS = 30_000;
/** With a stream, a rare poll finds a notice that was lost. */
const QUIET_POLL_MS = 10 * 60_000;
const FIRST_RETRY_MS = 1_000;
const LONGEST_RETRY_MS = 60_000;

export interface FollowPolicyOptions {
  signal: AbortSignal;
  /** Called with the first policy, and with each new generation or content. Not called again until it has finished. */
  onPolicy: (policy: PolicyAnswer) => Promise<void>;
  /** Called with each failure; the last policy stays. */
  onTrouble?: (message: string) => void;
  pollMs?: number;
  /** 0 to 1, for jitter. */
  random?: () => number;
}

/**
 * Follows the policy of a harness until the signal aborts: the live stream says when to read it, and a poll does while the stream
 * is down. Failures are retried without limit, also those of a key, because a key can be given its scope later.
 * @throws what `onPolicy` throws
 */
export async function followPolicy(
  connection: Connection,
  reader: PolicyReader,
  { signal, onPolicy, onTrouble, pollMs = POLL_MS, random = Math.random }: FollowPolicyOptions,
): Promise<void> {
  const stopped = new AbortController();
  const either = AbortSignal.any([signal, stopped.signal]);
  const bell = createBell();
  let streaming = false;
  const stream = followLive((init) => request(connection, "/api/v1/live?only=policy", init), either, {
    onOpen: () => {
      streaming = true;
      bell.ring();
    },
    onClose: () => {
      streaming = false;
    },
    onEvents: (events) => {
      if (events.some(isPolicyNotice)) bell.ring();
    },
  });
  let last: PolicyAnswer | undefined;
  let failures = 0;
  try {
    while (!signal.aborted) {
      bell.clear();
      let wait = (streaming ? QUIET_POLL_MS : pollMs) * (0.8 + 0.4 * random());
      try {
        const policy = await fetchPolicy(connection, reader, last?.hash, signal);
        failures = 0;
        if (policy !== undefined && isNew(policy, last)) {
          await onPolicy(policy);
          last = policy;
        }
      } catch (error) {
        if (signal.aborted) break;
        if (!(error instanceof CliError)) throw error;
        onTrouble?.(error.message);
        failures += 1;
        const backoff = Math.min(LONGEST_RETRY_MS, FIRST_RETRY_MS * 2 ** (failures - 1));
        const asked = error instanceof PolicyUnavailable ? (error.waitMs ?? 0) : 0;
        wait = Math.max(asked, Math.min(wait, backoff * (0.5 + random())));
        await sleep(wait, signal);
        continue;
      }
      await bell.wait(wait, signal);
    }
  } finally {
    stopped.abort();
    await stream;
  }
}

const isNew = (policy: PolicyAnswer, last: PolicyAnswer | undefined) =>
  last === undefined || policy.generation !== last.generation || policy.hash !== last.hash;

function isPolicyNotice({ data }: ServerEvent): boolean {
  try {
    return (JSON.parse(data) as { type?: unknown }).type === "policy";
  } catch {
    return false;
  }
}

/** Ends a wait when it rings, also if it rang before the wait began. */
function createBell() {
  let rung = false;
  let wake: (() => void) | undefined;
  return {
    ring: () => {
      rung = true;
      wake?.();
    },
    clear: () => {
      rung = false;
    },
    async wait(ms: number, signal: AbortSignal): Promise<void> {
      if (rung || signal.aborted) return;
      const ended = new AbortController();
      wake = () => ended.abort();
      await sleep(ms, AbortSignal.any([signal, ended.signal]));
      wake = undefined;
    },
  };
}
