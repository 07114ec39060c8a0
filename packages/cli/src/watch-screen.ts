import { stripVTControlCharacters } from "node:util";
import type { Connection } from "./connection.ts";
import { messageOf } from "./errors.ts";
import { followLive } from "./live-stream.ts";
import { request } from "./request.ts";
import { type Frame, frameOf, linesOf, type ScreenText, scrolled } from "./scroll.ts";
import { sleep } from "./sleep.ts";
import { columns, cutColumns, printable, type Terminal } from "./terminal.ts";

const POLL_MS = 5_000;
/** Redraw a quiet screen too, because ages change. */
const REDRAW_MS = 10_000;
const SETTLE_MS = 200;

export interface WatchOptions<Reading> {
  read: () => Promise<Reading>;
  draw: (reading: Reading) => ScreenText;
  /** Epoch ms. */
  now: () => number;
  signal: AbortSignal;
  pollMs?: number | undefined;
}

/**
 * Redraws what was read on every change notice, or every few seconds while the live stream is down. On a screen, the text fits
 * and keys scroll it; a file or a pipe gets one text after the other.
 * @throws CliError if the first request fails. Later errors are shown below the last data and retried.
 */
export async function watchScreen<Reading>(
  connection: Connection,
  terminal: Terminal,
  options: WatchOptions<Reading>,
): Promise<void> {
  const { now } = options;
  const { screen } = terminal;
  const stop = new AbortController();
  const signal = AbortSignal.any([options.signal, stop.signal]);
  let last = await options.read();
  let streaming = false;
  let trouble: string | undefined;
  let frame: Frame = { lines: [], top: 0, shown: 0 };

  const draw = (wanted = frame.top) => {
    const text = options.draw(last);
    const time = new Date(now()).toISOString();
    const state = trouble ?? (streaming ? "live" : `polling every ${(options.pollMs ?? POLL_MS) / 1_000} s`);
    if (screen === undefined) {
      const lines = [...linesOf(text), "", `${time}  ${state}  (Ctrl+C to stop)`];
      terminal.write(`${lines.join("\n")}\n\n`);
      return;
    }
    const { width } = terminal;
    frame = frameOf(text, { width, height: screen.height }, wanted);
    const rows = text.rows.length;
    const place =
      frame.shown < rows ? `${frame.top + 1}-${frame.top + frame.shown} of ${rows}, j/k to scroll, ` : "";
    const foot = cutColumns(`${time.slice(11, 19)} UTC  ${place}q to stop  ${printable(state)}`, width);
    const blank = Array.from({ length: screen.height - frame.lines.length - 1 }, () => "");
    // Overwrite line by line, because clearing the screen first would flicker. After a full line, clearing would delete its end.
    const lines = [...frame.lines, ...blank, foot].map((line) =>
      columns(stripVTControlCharacters(line)) < width ? `${line}\u001b[K` : line,
    );
    terminal.write(`\u001b[H${lines.join("\r\n")}`);
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

  const stopped = new Promise<void>((resolve) => signal.addEventListener("abort", () => resolve()));
  const close = screen?.open({
    key: (key) => (key === "stop" ? stop.abort() : draw(scrolled(frame, key))),
    redraw: () => draw(),
  });
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
        await Promise.race([refresh(), stopped]);
      }
    }
    await stream;
  } finally {
    refreshSoon.cancel();
    close?.();
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
