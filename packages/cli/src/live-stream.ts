import { eventParser, type ServerEvent } from "../../guard/src/http/message-parser.ts";
import { sleep } from "./sleep.ts";

const LONGEST_RETRY_MS = 30_000;
/** The server sends a ping every 15 s, so a stream silent for this long is dead. */
const SILENCE_MS = 45_000;

export interface LiveHandlers {
  onOpen: () => void;
  onClose: () => void;
  /** Called with at least one event. */
  onEvents: (events: readonly ServerEvent[]) => void;
}

/** Opens a stream of server-sent events. */
export type OpenStream = (init: {
  headers: Record<string, string>;
  signal: AbortSignal;
}) => Promise<Response>;

/** Keeps a live stream open until the signal aborts. Reconnects with exponential backoff. */
export async function followLive(
  open: OpenStream,
  signal: AbortSignal,
  handlers: LiveHandlers,
): Promise<void> {
  let retry = 1_000;
  while (!signal.aborted) {
    const opened = await readStream(open, signal, handlers).catch(() => false);
    handlers.onClose();
    if (opened) retry = 1_000;
    await sleep(retry, signal);
    retry = Math.min(LONGEST_RETRY_MS, retry * 2);
  }
}

async function readStream(open: OpenStream, signal: AbortSignal, handlers: LiveHandlers): Promise<boolean> {
  const silence = new AbortController();
  let alive = setTimeout(() => silence.abort(), SILENCE_MS);
  try {
    const response = await open({
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
