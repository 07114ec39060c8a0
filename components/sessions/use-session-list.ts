"use client";

import { keepPreviousData, useInfiniteQuery, useQuery } from "@tanstack/react-query";
import { useCallback, useDeferredValue, useMemo, useState } from "react";
import { useTRPC } from "../trpc.ts";
import { useHarness, useRange } from "../url.ts";
import { filterQuery, listQuery } from "./filters.ts";
import { useHeldRows } from "./use-held-rows.ts";
import { usePinnedPeriod, useSessionFilters } from "./use-session-filters.ts";

/** The sessions that match the filters of the page, in an order that stays while the list is held. */
export function useSessionList(held: boolean) {
  const trpc = useTRPC();
  const [harness] = useHarness();
  const [choice] = useRange();
  const [filters] = useSessionFilters();
  const q = useDeferredValue(filters.q);
  const [isLong, setLong] = useState(false);
  const filter = filterQuery(usePinnedPeriod(held || isLong), choice, { ...filters, q }, harness);
  const input = listQuery(filter, filters);
  const query = useInfiniteQuery(
    trpc.sessions.list.infiniteQueryOptions(input, {
      getNextPageParam: (page) => page.next_cursor ?? undefined,
      placeholderData: keepPreviousData,
    }),
  );
  const { data, fetchNextPage, isFetchingNextPage, hasNextPage, isPlaceholderData } = query;
  // After another filter there is one page again.
  const pages = isPlaceholderData ? 1 : (data?.pages.length ?? 0);
  if (isLong !== pages > 1) setLong(pages > 1);
  // Pages are read one after the other, so a session that moved meanwhile can be on two of them.
  const latest = useMemo(
    () => [
      ...new Map(data?.pages.flatMap(({ items }) => items.map((item) => [item.id, item] as const))).values(),
    ],
    [data],
  );
  const rows = useHeldRows(latest, isPlaceholderData ? undefined : JSON.stringify(input), held);
  const loadMore = useCallback(() => {
    if (!isFetchingNextPage) void fetchNextPage();
  }, [fetchNextPage, isFetchingNextPage]);
  const count = useQuery(
    trpc.sessions.count.queryOptions(filter, { enabled: hasNextPage, placeholderData: keepPreviousData }),
  );
  const { limit: _all, ...csv } = input;
  return {
    query,
    ...rows,
    loadMore,
    /** Sessions that match; undefined until they are counted. */
    total:
      data === undefined ? undefined : hasNextPage ? count.data : { sessions: latest.length, more: false },
    /** Parameters of the export of all matching sessions. */
    csv,
  };
}
