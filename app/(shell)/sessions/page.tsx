/** @jsxImportSource #jsx */
import { HydrationBoundary } from "@tanstack/react-query";
import type { Metadata } from "next";
import { cookies } from "next/headers";
import { redirect } from "next/navigation";
import { createLoader } from "nuqs/server";
import { DEFAULT_RANGE, parseRange } from "../../../components/range.ts";
import { COLUMNS_COOKIE } from "../../../components/sessions/column-choice.ts";
import { filterQuery, listQuery, sessionFilters } from "../../../components/sessions/filters.ts";
import { SessionsPage } from "../../../components/sessions/sessions-page.tsx";
import { defaultHref, opensDefault } from "../../../components/sessions/view-query.ts";
import { now } from "../../now.ts";
import { prefetch } from "../../prefetch.ts";
import { harnessOf, one, periodOf, projectOf, type SearchParams, searchOf } from "../../search.ts";

export const metadata: Metadata = { title: "Sessions" };

const filtersOf = createLoader(sessionFilters);

export default async function Page({ searchParams }: { searchParams: SearchParams }) {
  const params = await searchParams;
  const search = searchOf(params);
  const at = now();
  const state = await prefetch(async (trpc, client) => {
    const views = client.fetchQuery(trpc.sessions.views.list.queryOptions());
    if (opensDefault(search)) {
      const first = (await views).views.find((view) => view.is_default);
      if (first !== undefined) redirect(defaultHref(first, search));
    }
    const period = await periodOf(one(params.range), at, { trpc, client });
    const filters = filtersOf(params);
    const choice = parseRange(one(params.range) ?? "") ?? DEFAULT_RANGE;
    const filter = filterQuery(period, choice, filters, harnessOf(params) ?? null);
    return [
      views,
      client.prefetchQuery(trpc.sessions.count.queryOptions(filter)),
      client.prefetchInfiniteQuery(
        trpc.sessions.list.infiniteQueryOptions(listQuery(filter, filters), {
          getNextPageParam: (page) => page.next_cursor ?? undefined,
        }),
      ),
    ];
  }, projectOf(params));
  return (
    <HydrationBoundary state={state}>
      <SessionsPage columns={(await cookies()).get(COLUMNS_COOKIE)?.value ?? null} />
    </HydrationBoundary>
  );
}
