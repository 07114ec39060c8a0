import { useEffect } from "react";

/** How long to wait for the list to render, in ms. */
const WAIT_MS = 2000;

/** After going back to a list, focuses the row that was opened, as browsers do for static pages. */
export function useRestoreRowFocus(): void {
  useEffect(() => {
    let opened: { page: string; link: string } | undefined;
    let waiting = 0;
    const here = () => window.location.pathname + window.location.search;

    function open({ target }: MouseEvent) {
      const link = target instanceof Element ? target.closest("[data-row-link]") : null;
      if (link !== null) opened = { page: here(), link: link.getAttribute("href") ?? "" };
    }
    function back() {
      cancelAnimationFrame(waiting);
      if (opened === undefined || opened.page !== here()) return;
      const { link } = opened;
      opened = undefined;
      const until = performance.now() + WAIT_MS;
      const tryFocus = () => {
        const row = document.querySelector<HTMLElement>(`[data-row-link][href="${CSS.escape(link)}"]`);
        if (row !== null && document.activeElement === document.body) row.focus({ preventScroll: true });
        else if (row === null && performance.now() < until) waiting = requestAnimationFrame(tryFocus);
      };
      waiting = requestAnimationFrame(tryFocus);
    }

    document.addEventListener("click", open, true);
    window.addEventListener("popstate", back);
    return () => {
      cancelAnimationFrame(waiting);
      document.removeEventListener("click", open, true);
      window.removeEventListener("popstate", back);
    };
  }, []);
}
