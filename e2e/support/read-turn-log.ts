import type { Locator } from "@playwright/test";

/** Scrolls through the virtualized turn log and returns the text of every row, newest first. */
export function readTurnLog(log: Locator): Promise<string[]> {
  return log.evaluate(async (scroller) => {
    const rows = new Map<number, string>();
    for (let top = 0; ; top += 200) {
      scroller.scrollTop = top;
      // One frame to scroll, one to render the new rows.
      for (let frame = 0; frame < 2; frame += 1) await new Promise(requestAnimationFrame);
      for (const row of scroller.querySelectorAll("[data-testid^=log-]")) {
        rows.set(Number(row.getAttribute("aria-rowindex")), row.textContent ?? "");
      }
      if (scroller.scrollTop + scroller.clientHeight >= scroller.scrollHeight - 1) break;
    }
    return [...rows].sort(([a], [b]) => a - b).map(([, text]) => text);
  });
}
