import { type Backoff, backoffMs } from "@plimsoll/protocol/pure";
import { backgroundTimer } from "../background-timer.ts";
import { retryAfter } from "./answers.ts";
import { messageParser } from "./message-parser.ts";

/** How a stream of server-sent events is kept open. Durations in ms. */
export interface StreamOptions {
  open: (init: { headers: Record<string, string>; signal: AbortSignal }) => Promise<Response>;
  /** Ends everything. */
  signal: AbortSignal;
  /** Longest wait for the answer to begin. */
  timeoutMs: number;
  /** A stream that says nothing for this long is closed. */
  silentMs: number;
  backoff: Backoff;
  /** Longest wait after the server refused the key. */
  refusedMs: number;
  random: () => number;
  /** Epoch ms. */
  clock: () => number;
  onOpen: () => void;
  /** Receives the data of at least one message. */
  onMessages: (messages: readonly string[]) => void;
  /** Called after each attempt, also one that opened no stream. */
  onClose: (wasOpen: boolean) => void;
}

/** Longest wait that a server may ask for. */
export const MOST_WAIT_MS = 3_600_000;

/** How an attempt ended. */
interface StreamEnd {
  wasOpen: boolean;
  /** What the server asked to wait. */
  waitMs?: number | undefined;
  refused?: boolean;
}

/**
 * Keeps a stream open until the signal aborts. Opens it again as late as Retry-After says, or with exponential backoff. Its timers
 * do not keep a process alive. Never throws.
 */
export async function followStream(options: StreamOptions): Promise<void> {
  const { signal, backoff, refusedMs, random } = options;
  for (let failures = 0; !signal.aborted; ) {
    const { wasOpen, waitMs, refused } = await readStream(options);
    options.onClose(wasOpen);
    failures = wasOpen ? 1 : failures + 1;
    const waits = refused ? { firstMs: refusedMs, mostMs: refusedMs } : backoff;
    const own = backoffMs(failures, waits, random());
    await sleep(waitMs === undefined ? own : Math.min(waitMs, MOST_WAIT_MS), signal);
  }
}

async function readStream(options: StreamOptions): Promise<StreamEnd> {
  const silent = new AbortController();
  let timer = backgroundTimer(() => silent.abort(), options.timeoutMs);
  let wasOpen = false;
  try {
    const response = await options.open({
      headers: { accept: "text/event-stream" },
      signal: AbortSignal.any([options.signal, silent.signal]),
    });
    const isStream = (response.headers.get("content-type") ?? "").startsWith("text/event-stream");
    if (response.status !== 200 || !isStream || response.body === null) {
      await response.body?.cancel();
      const refused = response.status === 401 || response.status === 403;
      return { wasOpen, waitMs: retryAfter(response, options.clock()), refused };
    }
    wasOpen = true;
    options.onOpen();
    const parse = messageParser();
    const reader = response.body.pipeThrough(new TextDecoderStream()).getReader();
    for (;;) {
      clearTimeout(timer);
      timer = backgroundTimer(() => silent.abort(), options.silentMs);
      const { done, value } = await reader.read();
      if (done) break;
      const messages = parse(value);
      if (messages.length > 0) options.onMessages(messages);
    }
  } catch {
    // A stream that breaks is a stream that ended.
  } finally {
    clearTimeout(timer);
    silent.abort();
  }
  return { wasOpen };
}

function sleep(ms: number, signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    if (signal.aborted) return resolve();
    const timer = backgroundTimer(done, ms);
    signal.addEventListener("abort", done, { once: true });
    function done() {
      clearTimeout(timer);
      signal.removeEventListener("abort", done);
      resolve();
    }
  });
}
