"use client";

import { useEffect, useReducer, useState } from "react";
import { isSameOrder, STEADY_FOR, type SteadyOrder, steadyOrder } from "./steady-order.ts";

/**
 * The order to show of rows that are wanted in another one; see `steadyOrder`.
 * @param key names the order; another one is shown at once
 */
export function useSteadyOrder(
  wanted: readonly string[],
  { key, held }: { key: string; held: boolean },
): { ids: readonly string[]; isLate: boolean } {
  const [shown, setShown] = useState<SteadyOrder & { key: string }>({
    key,
    ids: wanted,
    since: Number.NEGATIVE_INFINITY,
  });
  const now = Date.now();
  const next = shown.key === key ? steadyOrder(shown, wanted, { now, held }) : { ids: wanted, since: now };
  if (next !== shown) setShown({ ...next, key });
  const isLate = !isSameOrder(next.ids, wanted);
  const [, wake] = useReducer((count: number) => count + 1, 0);
  const { since } = next;
  useEffect(() => {
    if (!isLate || held) return;
    const timer = setTimeout(wake, Math.max(0, since + STEADY_FOR - Date.now()));
    return () => clearTimeout(timer);
  }, [isLate, held, since]);
  return { ids: next.ids, isLate };
}
