import type { Connection } from "./connection.ts";
import { messageOf } from "./errors.ts";
import { followLive } from "./live-stream.ts";
import { request } from "./request.ts";
import { sleep } from "./sleep.ts";
import type { Terminal } from "./terminal.ts";

const POLL_MS = 5_000;
/** Redraw a quiet screen too, because ages change. */
const REDRAW_MS = 10_000;
const SETTLE_MS = 200;

export interface WatchOptions<Reading> {
  read: () => Promise<Reading>;
  /** The lines of a reading. */
  draw: (reading: Reading) => string[];
  /** Epoch ms. */
  now: () => number;
  signal: AbortSignal;
  pollMs?: number | undefined;
}

/**
 * Redraws what was read on every change notice, or every few seconds while the live stream is down.
 * @throws CliError if the first request fails. Later errors are shown below the last data and retried.
 */
export async function watchScreen<Reading>(
  connection: Connection,
  terminal: Terminal,
  options: WatchOptions<Reading>,
): Promise<void> {
  const { signal, now } = options;
  let last = await options.read();
  let streaming = false;
  let trouble: string | undefined;

  const draw = () => {
    const lines = options.draw(last);
    const foot = trouble ?? (streaming ? "live" : `polling every ${(options.pollMs ?? POLL_MS) / 1_000} s`);
    const frame = [...lines, "", `${new Date(now()).toISOString()}  ${foot}  (Ctrl+C to stop)`];
    // Overwrite line by line, because clearing the screen first would flicker.
    terminal.write(
      terminal.isTty
        ? `\u001b[H${frame.map((line) => `${line}\u001b[K`).join("\n")}\n\u001b[J`
        : `${frame.join("\n")}\n\n`,
    );
  };
  const refresh = async () => {
    try {
      last = await options.read();
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
    const stream = followLive((init) => request(connection, "/api/v1/live", init), signal, {
      onOpen: () => {
        streaming = true;
        refreshSoon();
      },
      onClose: () => {
        streaming = false;
      },
      onMessages: refreshSoon,
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

/** Coalesces calls: at most one run at a time, and one more run for all calls during a run. */
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
