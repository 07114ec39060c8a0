import type { Locator } from "@playwright/test";

/** Every row of the log, newest first: only those near the view are in the page. */
export function readTurnLog(log: Locator): Promise<string[]> {
  return log.evaluate(async (scroller) => {
    const rows = new Map<number, string>();
    for (let top = 0; ; top += 200) {
      scroller.scrollTop = top;
      // One frame to scroll, one to draw what came into view.
      for (let frame = 0; frame < 2; frame += 1) await new Promise(requestAnimationFrame);
      for (const row of scroller.querySelectorAll("[data-testid^=log-]")) {
        rows.set(Number(row.getAttribute("aria-rowindex")), row.textContent ?? "");
      }
      if (scroller.scrollTop + scroller.clientHeight >= scroller.scrollHeight - 1) break;
    }
    return [...rows].sort(([a], [b]) => a - b).map(([, text]) => text);
  });
}
