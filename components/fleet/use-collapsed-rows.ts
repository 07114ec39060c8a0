import { useSyncExternalStore } from "react";
import { COLLAPSED_ROWS, COLLAPSED_ROWS_TALL, COLLAPSED_ROWS_WIDE } from "./visible-agents.ts";

/** The width from which the Fleet page shows its charts next to the agents; `fleet-page.tsx` repeats it. */
const WIDE = "(min-width: 1900px)";
const TALL = "(min-width: 1900px) and (min-height: 1300px)";

function onChange(notify: () => void): () => void {
  const queries = [matchMedia(WIDE), matchMedia(TALL)];
  for (const query of queries) query.addEventListener("change", notify);
  return () => {
    for (const query of queries) query.removeEventListener("change", notify);
  };
}

/** Rows of a large fleet that the screen has room for. The server does not know it, and renders the fewest. */
export function useCollapsedRows(): number {
  return useSyncExternalStore(
    onChange,
    () =>
      matchMedia(TALL).matches
        ? COLLAPSED_ROWS_TALL
        : matchMedia(WIDE).matches
          ? COLLAPSED_ROWS_WIDE
          : COLLAPSED_ROWS,
    () => COLLAPSED_ROWS,
  );
}
