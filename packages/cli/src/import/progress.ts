import { number } from "../number-format.ts";
import type { Terminal } from "../terminal.ts";
import type { ImportProgress } from "./import.ts";

const EVERY_MS = 100;

export function progressLine(progress: ImportProgress, width: number): string {
  const share = progress.totalBytes === 0 ? 1 : progress.bytes / progress.totalBytes;
  const text = ` ${String(Math.floor(share * 100)).padStart(3)}%  ${number(progress.events)} events`;
  const cells = Math.max(0, Math.min(40, width - text.length - 3));
  const full = Math.round(share * cells);
  return `[${"█".repeat(full)}${"·".repeat(cells - full)}]${text}`;
}

/** A progress bar on a terminal. It prints nothing if the output is not a terminal. */
export function progressBar(terminal: Terminal, now: () => number) {
  let drawnAt = Number.NEGATIVE_INFINITY;
  return {
    show(progress: ImportProgress): void {
      if (!terminal.isTty || now() - drawnAt < EVERY_MS) return;
      drawnAt = now();
      terminal.write(`\r${progressLine(progress, terminal.width)}\u001b[K`);
    },
    clear(): void {
      if (terminal.isTty) terminal.write("\r\u001b[K");
    },
  };
}
