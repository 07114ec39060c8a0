import { createClient } from "../client.ts";
import type { Connection } from "../connection.ts";
import { authorization } from "../connection.ts";
import { messageOf } from "../errors.ts";
import { sleep } from "../sleep.ts";
import type { Terminal } from "../terminal.ts";
import type { Fleet } from "./command.ts";
import { drawFleet, readFleet } from "./command.ts";
import { eventParser } from "./live.ts";

const POLL_MS = 5_000;
/** Ages of turns go stale by themselves, so even a quiet fleet is drawn again. */
const REDRAW_MS = 10_000;
const SETTLE_MS = 200;
const LONGEST_RETRY_MS = 30_000;
/** The server shows signs of life every 15 s: a stream silent for longer is a dead connection. */
const SILENCE_MS = 45_000;

export interface WatchOptions {
  harness?: string | undefined;
  now: () => number;
  signal: AbortSignal;
  pollMs?: number;
}

/**
 * Draws the fleet whenever the server says that something changed; while its stream is down, every few seconds. The
 * first answer must succeed; later failures are shown below what was last known, and outlived.
 */
export async function watchStatus(
  connection: Connection,
  terminal: Terminal,
  options: WatchOptions,
): Promise<void> {
  const client = createClient(connection);
  const { signal, now } = options;
  let last: Fleet = await readFleet(client, now(), options.harness);
  let streaming = false;
  let trouble: string | undefined;

  const draw = () => {
    const lines = drawFleet(last, terminal, now());
    const foot = trouble ?? (streaming ? "live" : `polling every ${(options.pollMs ?? POLL_MS) / 1_000} s`);
    const frame = [...lines, "", `${new Date(now()).toISOString()}  ${foot}  (Ctrl+C to stop)`];
    // Each line is erased as it is overwritten: clearing the screen first would flicker.
    terminal.write(
      terminal.isTty
        ? `\u001b[H${frame.map((line) => `${line}\u001b[K`).join("\n")}\n\u001b[J`
        : `${frame.join("\n")}\n\n`,
    );
  };
  const refresh = async () => {
    try {
      last = await readFleet(client, now(), options.harness);
      trouble = undefined;
    } catch (error) {
      trouble = messageOf(error);
    }
    if (!signal.aborted) draw();
  };
  const refreshSoon = coalesce(refresh, SETTLE_MS);

  if (terminal.isTty) terminal.write("\u001b[?1049h\u001b[?25l\u001b[2J");
  try {
    draw();
    const stream = follow(connection, signal, {
      onOpen: () => {
        streaming = true;
        refreshSoon();
      },
      onClose: () => {
        streaming = false;
      },
      onChange: refreshSoon,
    });
    let drawnAt = now();
    while (!signal.aborted) {
      await sleep(options.pollMs ?? POLL_MS, signal);
      if (signal.aborted) break;
      if (!streaming || now() - drawnAt >= REDRAW_MS) {
        drawnAt = now();
        await refresh();
      }
    }
    await stream;
  } finally {
    refreshSoon.cancel();
    if (terminal.isTty) terminal.write("\u001b[?25h\u001b[?1049l");
  }
}

interface StreamHandlers {
  onOpen: () => void;
  onClose: () => void;
  onChange: () => void;
}

/** Holds the live stream open until the signal, coming back after each end with growing patience. */
async function follow(connection: Connection, signal: AbortSignal, handlers: StreamHandlers): Promise<void> {
  let retry = 1_000;
  while (!signal.aborted) {
    const opened = await readStream(connection, signal, handlers).catch(() => false);
    handlers.onClose();
    if (opened) retry = 1_000;
    await sleep(retry, signal);
    retry = Math.min(LONGEST_RETRY_MS, retry * 2);
  }
}

async function readStream(
  connection: Connection,
  signal: AbortSignal,
  handlers: StreamHandlers,
): Promise<boolean> {
  const silence = new AbortController();
  let alive = setTimeout(() => silence.abort(), SILENCE_MS);
  try {
    const response = await fetch(`${connection.url}/api/v1/live`, {
      headers: { accept: "text/event-stream", ...authorization(connection) },
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
        if (parse(decoder.decode(chunk, { stream: true })).length > 0) handlers.onChange();
      }
    } catch {
      // A stream that breaks off was open all the same: it may be asked for again at once.
    }
    return true;
  } finally {
    clearTimeout(alive);
  }
}

/** Runs at most one at a time, soon after the first request; requests meanwhile lead to one more run. */
function coalesce(run: () => Promise<void>, delay: number): (() => void) & { cancel: () => void } {
  let timer: NodeJS.Timeout | undefined;
  let running = false;
  let again = false;
  const start = () => {
    if (running) {
      again = true;
      return;
    }
    timer ??= setTimeout(async () => {
      timer = undefined;
      running = true;
      await run();
      running = false;
      if (again) {
        again = false;
        start();
      }
    }, delay);
  };
  return Object.assign(start, {
    cancel: () => {
      clearTimeout(timer);
      again = false;
    },
  });
}
