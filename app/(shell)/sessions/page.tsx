import { HydrationBoundary } from "@tanstack/react-query";
import type { Metadata } from "next";
import { createLoader } from "nuqs/server";
import { listQuery, sessionFilters } from "../../../components/sessions/filters.ts";
import { SessionsPage } from "../../../components/sessions/sessions-page.tsx";
import { now } from "../../now.ts";
import { prefetch } from "../../prefetch.ts";
import { harnessOf, one, periodOf, projectOf, type SearchParams } from "../../search.ts";

export const metadata: Metadata = { title: "Sessions" };

const filtersOf = createLoader(sessionFilters);

export default async function Page({ searchParams }: { searchParams: SearchParams }) {
  const params = await searchParams;
  const query = listQuery(periodOf(one(params.range), now()), filtersOf(params), harnessOf(params) ?? null);
  const state = await prefetch(
    (trpc, client) => [
      client.prefetchInfiniteQuery(
        trpc.sessions.list.infiniteQueryOptions(query, {
          getNextPageParam: (page) => page.next_cursor ?? undefined,
        }),
      ),
    ],
    projectOf(params),
  );
  return (
    <HydrationBoundary state={state}>
      <SessionsPage />
    </HydrationBoundary>
  );
}
