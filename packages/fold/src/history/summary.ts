import type { Peak, Summary, WindowSummary } from "./agent-state.ts";
import { larger } from "./usage.ts";

export const EMPTY_SUMMARY: Summary = {
  turns: 0,
  marks: 0,
  peak: undefined,
  peakUtilization: undefined,
  windows: [],
};

/** The summary of consecutive runs of events, the earliest first. */
export function joinSummaries(...runs: readonly Summary[]): Summary {
  if (runs.length === 1) return runs[0]!;
  const windows = new Map<number, WindowSummary>();
  const joined = {
    turns: 0,
    marks: 0,
    peak: undefined as Peak | undefined,
    peakUtilization: undefined as number | undefined,
  };
  for (const run of runs) {
    joined.turns += run.turns;
    joined.marks += run.marks;
    joined.peak = higherPeak(joined.peak, run.peak);
    joined.peakUtilization = larger(joined.peakUtilization, run.peakUtilization);
    for (const window of run.windows) {
      const known = windows.get(window.index);
      windows.set(window.index, known === undefined ? window : joinWindows(known, window));
    }
  }
  return { ...joined, windows: [...windows.values()].sort((a, b) => a.index - b.index) };
}

/** Two parts of one window, the earlier one first. */
export function joinWindows(earlier: WindowSummary, later: WindowSummary): WindowSummary {
  return {
    index: earlier.index,
    firstAt: Math.min(earlier.firstAt, later.firstAt),
    lastAt: Math.max(earlier.lastAt, later.lastAt),
    turns: earlier.turns + later.turns,
    firstTokens: earlier.firstTokens ?? later.firstTokens,
    lastTokens: later.lastTokens ?? earlier.lastTokens,
    peakTokens: larger(earlier.peakTokens, later.peakTokens),
    peakUtilization: larger(earlier.peakUtilization, later.peakUtilization),
    windowTokens: later.windowTokens ?? earlier.windowTokens,
  };
}

/** The earlier of two equal peaks. */
export function higherPeak(earlier: Peak | undefined, later: Peak | undefined): Peak | undefined {
  if (earlier === undefined || later === undefined) return earlier ?? later;
  return later.tokens > earlier.tokens ? later : earlier;
}
