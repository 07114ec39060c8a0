import type { Key } from "./pressed-keys.ts";
import { cutColumns } from "./terminal.ts";

/** What a screen shows: a summary, then a table whose rows scroll. */
export interface ScreenText {
  /** Lines above the table, the most important one first. A low screen shows fewer. */
  summary: readonly string[];
  /** Always shown. */
  head: string;
  rows: readonly string[];
}

/** All of it, for an output without a height. */
export function linesOf({ summary, head, rows }: ScreenText): string[] {
  return [...(summary.length === 0 ? [] : [...summary, ""]), head, ...rows];
}

export interface Frame {
  lines: string[];
  /** Index of the first row shown. */
  top: number;
  /** Rows shown. */
  shown: number;
}

/** Share of a low screen for the summary. */
const SUMMARY_SHARE = 1 / 3;

/**
 * Fits a text to a screen of `height` lines, of which the last one is left free for the caller.
 * @param top index of the first row wanted; the frame says which one it became
 */
export function frameOf(text: ScreenText, size: { width: number; height: number }, top: number): Frame {
  const { summary, head, rows } = text;
  const room = Math.max(1, size.height - 1);
  const above = summary.length === 0 ? [] : [...summary, ""];
  const fits = above.length + 1 + rows.length <= room;
  const most = Math.max(0, Math.min(Math.floor(size.height * SUMMARY_SHARE), room - 2));
  const kept = fits ? above : above.slice(0, most);
  const heads = room > 1 ? [...kept, head] : [];
  const shown = Math.min(rows.length, room - heads.length);
  const first = Math.max(0, Math.min(top, rows.length - shown));
  const lines = [...heads, ...rows.slice(first, first + shown)];
  return { lines: lines.map((line) => cutColumns(line, size.width)), top: first, shown };
}

/** The first row wanted after a key. May lie beyond the last row: `frameOf` moves it back. */
export function scrolled({ top, shown }: Frame, key: Exclude<Key, "stop">): number {
  const page = Math.max(1, shown - 1);
  switch (key) {
    case "down":
      return top + 1;
    case "up":
      return top - 1;
    case "page_down":
      return top + page;
    case "page_up":
      return top - page;
    case "first":
      return 0;
    case "last":
      return Number.MAX_SAFE_INTEGER;
  }
}
