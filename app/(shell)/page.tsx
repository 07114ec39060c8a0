/** @jsxImportSource #jsx */
import { HydrationBoundary } from "@tanstack/react-query";
import type { Metadata } from "next";
import { cookies } from "next/headers";
import { DISMISSED_COOKIE } from "../../components/fleet/dismissals.ts";
import { FleetPage } from "../../components/fleet/fleet-page.tsx";
import { now } from "../now.ts";
import { prefetch } from "../prefetch.ts";
import { harnessOf, one, periodOf, projectOf, type SearchParams } from "../search.ts";

export const metadata: Metadata = { title: "Fleet" };

export default async function Page({ searchParams }: { searchParams: SearchParams }) {
  const params = await searchParams;
  const chosen = harnessOf(params);
  const harness = chosen === undefined ? {} : { harness: chosen };
  const state = await prefetch(async (trpc, client) => {
    const { from, to } = await periodOf(one(params.range), now(), { trpc, client });
    return [
      client.prefetchQuery(trpc.status.queryOptions({ from, to, ...harness })),
      client.prefetchQuery(trpc.fleet.queryOptions(harness)),
      client.prefetchQuery(trpc.extent.queryOptions(harness)),
      client.prefetchQuery(trpc.windows.unknown.queryOptions({ from, to, ...harness })),
    ];
  }, projectOf(params));
  return (
    <HydrationBoundary state={state}>
      <FleetPage dismissed={(await cookies()).get(DISMISSED_COOKIE)?.value ?? null} />
    </HydrationBoundary>
  );
}
