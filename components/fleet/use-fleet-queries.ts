import { keepPreviousData, useQuery } from "@tanstack/react-query";
import { createContext, useContext, useMemo } from "react";
import { shareAgents } from "../live/merge-fleet.ts";
import { placeInput } from "../place.ts";
import { rangeWithData } from "../range.ts";
import { useTRPC } from "../trpc.ts";
import { useHarness, usePeriod, usePlace, useRange } from "../url.ts";

export const keep = { placeholderData: keepPreviousData };
const keepAgents = { ...keep, structuralSharing: shareAgents };

const QUOTA_EVERY_MS = 60_000;

/** The queries of the range and the filters in the URL. */
export function useRangeQueries() {
  const trpc = useTRPC();
  const [chosen] = useHarness();
  const [place] = usePlace();
  const { from, to, span } = usePeriod();
  return useMemo(() => {
    const harness = chosen === null ? {} : { harness: chosen };
    const range = { from, to, ...harness };
    return {
      trpc,
      range,
      span,
      status: trpc.status.queryOptions(range, keep),
      // A forecast changes without an event.
      quota: trpc.quota.queryOptions(undefined, { refetchInterval: QUOTA_EVERY_MS }),
      fleet: trpc.fleet.queryOptions({ ...harness, ...placeInput(place) }, keepAgents),
    };
  }, [trpc, chosen, place, from, to, span]);
}

/** Query options of the Fleet page. Reading the URL takes longer than rendering a part that changes with each turn. */
export const FleetQueries = createContext<ReturnType<typeof useRangeQueries> | null>(null);

/** Query options shared by all parts of the Fleet page, so that each query is sent once. */
export function useFleetQueries() {
  const queries = useContext(FleetQueries);
  if (queries === null) throw new Error("A part of the Fleet page is rendered outside of it.");
  return queries;
}

/** The range of the charts: the part of the page's range that has data. Undefined until that is known. */
export function useChartRange() {
  const trpc = useTRPC();
  const [chosen] = useHarness();
  const [choice] = useRange();
  const period = usePeriod();
  const harness = chosen === null ? {} : { harness: chosen };
  const { data, isError } = useQuery(trpc.extent.queryOptions(harness));
  if (data === undefined && !isError) return undefined;
  const { from, to, span, since } = rangeWithData(choice, period, data?.first_at ?? null);
  return { range: { from, to, ...harness }, span, since };
}
