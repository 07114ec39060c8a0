import { useSyncExternalStore } from "react";

/** The width from which the Fleet page shows its charts next to the agents; `fleet-page.tsx` repeats it. */
const WIDE = "(min-width: 1900px)";

function onChange(notify: () => void): () => void {
  const query = matchMedia(WIDE);
  query.addEventListener("change", notify);
  return () => query.removeEventListener("change", notify);
}

/** False while rendering on the server. */
export function useIsWide(): boolean {
  return useSyncExternalStore(
    onChange,
    () => matchMedia(WIDE).matches,
    () => false,
  );
}
