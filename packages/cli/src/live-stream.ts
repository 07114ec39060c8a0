import type { Connection } from "./connection.ts";
import { request } from "./request.ts";
import { sleep } from "./sleep.ts";
import { eventParser, type ServerEvent } from "./sse-parser.ts";

const LONGEST_RETRY_MS = 30_000;
/** The server sends a ping every 15 s, so a stream silent for this long is dead. */
const SILENCE_MS = 45_000;

export interface LiveHandlers {
  onOpen: () => void;
  onClose: () => void;
  /** Called with at least one event. */
  onEvents: (events: readonly ServerEvent[]) => void;
}

/**
 * Keeps a live stream open until the signal aborts. Reconnects with exponential backoff.
 * @param path of the stream, such as `/api/v1/live`
 */
export async function followLive(
  connection: Connection,
  path: string,
  signal: AbortSignal,
  handlers: LiveHandlers,
): Promise<void> {
  let retry = 1_000;
  while (!signal.aborted) {
    const opened = await readStream(connection, path, signal, handlers).catch(() => false);
    handlers.onClose();
    if (opened) retry = 1_000;
    await sleep(retry, signal);
    retry = Math.min(LONGEST_RETRY_MS, retry * 2);
  }
}

async function readStream(
  connection: Connection,
  path: string,
  signal: AbortSignal,
  handlers: LiveHandlers,
): Promise<boolean> {
  const silence = new AbortController();
  let alive = setTimeout(() => silence.abort(), SILENCE_MS);
  try {
    const response = await request(connection, path, {
      headers: { accept: "text/event-stream" },
      signal: AbortSignal.any([signal, silence.signal]),
    });
    if (!response.ok || response.body === null) {
      await response.body?.cancel();
      return false;
    }
    handlers.onOpen();
    const parse = eventParser();
    const decoder = new TextDecoder();
    try {
      for await (const chunk of response.body) {
        clearTimeout(alive);
        alive = setTimeout(() => silence.abort(), SILENCE_MS);
        const events = parse(decoder.decode(chunk, { stream: true }));
        if (events.length > 0) handlers.onEvents(events);
      }
    } catch {
      // The stream was open, so the backoff starts from the beginning.
    }
    return true;
  } finally {
    clearTimeout(alive);
  }
}
