/** @jsxImportSource #jsx */
import { HydrationBoundary } from "@tanstack/react-query";
import type { Metadata } from "next";
import { DEFAULT_RANGE, resolveRange } from "../../../components/range.ts";
import { activityQuery } from "../../../components/setup/activity-query.ts";
import { SetupPage } from "../../../components/setup/setup-page.tsx";
import { now } from "../../now.ts";
import { prefetch } from "../../prefetch.ts";
import { one, periodOf, projectOf, type SearchParams } from "../../search.ts";

export const metadata: Metadata = { title: "Setup" };

export default async function Page({ searchParams }: { searchParams: SearchParams }) {
  const params = await searchParams;
  const at = now();
  const recent = resolveRange(DEFAULT_RANGE, at);
  const state = await prefetch(async (trpc, client) => {
    const { from, to } = await periodOf(one(params.range), at, { trpc, client });
    return [
      client.prefetchQuery(trpc.status.queryOptions({ from, to })),
      // The first-event status always covers the last day, whatever range is selected.
      client.prefetchQuery(trpc.status.queryOptions({ from: recent.from, to: recent.to })),
      client.prefetchQuery(trpc.ingest.counts.queryOptions({ from, to })),
      client.prefetchQuery(trpc.account.queryOptions()),
      client.prefetchQuery(trpc.people.list.queryOptions()),
      client.prefetchQuery(trpc.windows.list.queryOptions()),
      client.prefetchQuery(trpc.keys.list.queryOptions()),
      client.prefetchQuery(trpc.browsers.list.queryOptions()),
      client.prefetchInfiniteQuery(
        trpc.audit.list.infiniteQueryOptions(activityQuery(undefined), {
          getNextPageParam: (page) => page.next_cursor ?? undefined,
        }),
      ),
      client.prefetchQuery(trpc.harnesses.queryOptions({})),
      client.prefetchQuery(trpc.ingest.refusals.queryOptions()),
      client.prefetchQuery(trpc.ingest.unmapped.queryOptions()),
      client.prefetchQuery(trpc.retention.get.queryOptions({})),
      client.prefetchQuery(trpc.demo.get.queryOptions()),
      client.prefetchQuery(trpc.instance.queryOptions()),
    ];
  }, projectOf(params));
  return (
    <HydrationBoundary state={state}>
      <SetupPage />
    </HydrationBoundary>
  );
}
