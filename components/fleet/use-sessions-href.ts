import { useCallback } from "react";
import { serializeRange } from "../range.ts";
import { useHarness, useRange } from "../url.ts";
import { type SessionsFilter, sessionsHref } from "./sessions-href.ts";

/** Links from this page to the sessions behind a number. `range` replaces the range of the page. */
export function useSessionsHref(): (filter: SessionsFilter, range?: { from: number; to: number }) => string {
  const [choice] = useRange();
  const [harness] = useHarness();
  return useCallback(
    (filter, range = undefined) => sessionsHref(filter, { range: serializeRange(range ?? choice), harness }),
    [choice, harness],
  );
}
