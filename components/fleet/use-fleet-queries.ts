import { keepPreviousData } from "@tanstack/react-query";
import { useTRPC } from "../trpc.ts";
import { useHarness, usePeriod } from "../url.ts";

export const keep = { placeholderData: keepPreviousData };

/** Query options shared by all parts of the page, so that each query is sent once. */
export function useFleetQueries() {
  const trpc = useTRPC();
  const [chosen] = useHarness();
  const harness = chosen === null ? {} : { harness: chosen };
  const { from, to, span } = usePeriod();
  const range = { from, to, ...harness };
  return {
    trpc,
    range,
    span,
    status: trpc.status.queryOptions(range, keep),
    fleet: trpc.fleet.queryOptions(harness, keep),
  };
}
