/** @jsxImportSource #jsx */
import { HydrationBoundary } from "@tanstack/react-query";
import type { Metadata } from "next";
import { cookies } from "next/headers";
import { DISMISSED_COOKIE } from "../../components/fleet/dismissals.ts";
import { FleetPage } from "../../components/fleet/fleet-page.tsx";
import {
  awaySince,
  digestRange,
  LOOKED_COOKIE,
  parseLooks,
  projectMark,
} from "../../components/fleet/looked.ts";
import { now } from "../now.ts";
import { prefetch } from "../prefetch.ts";
import { harnessOf, one, periodOf, placeOf, projectOf, type SearchParams } from "../search.ts";

export const metadata: Metadata = { title: "Fleet" };

export default async function Page({ searchParams }: { searchParams: SearchParams }) {
  const params = await searchParams;
  const chosen = harnessOf(params);
  const harness = chosen === undefined ? {} : { harness: chosen };
  const sent = await cookies();
  const look = parseLooks(sent.get(LOOKED_COOKIE)?.value ?? null).get(projectMark(projectOf(params)));
  const away = awaySince(look, Math.floor(now() / 1_000));
  const minute = Math.floor(now() / 60_000) * 60_000;
  const state = await prefetch(async (trpc, client) => {
    const { from, to } = await periodOf(one(params.range), now(), { trpc, client });
    return [
      client.prefetchQuery(trpc.status.queryOptions({ from, to, ...harness })),
      client.prefetchQuery(trpc.fleet.queryOptions({ ...harness, ...placeOf(params) })),
      client.prefetchQuery(trpc.extent.queryOptions(harness)),
      ...(away === undefined
        ? []
        : [client.prefetchQuery(trpc.digest.queryOptions({ ...digestRange(away, minute), ...harness }))]),
      client.prefetchQuery(trpc.quota.queryOptions()),
      client.prefetchQuery(trpc.machines.list.queryOptions()),
      client.prefetchQuery(trpc.sessions.values.queryOptions()),
      client.prefetchQuery(trpc.windows.unknown.queryOptions({ from, to, ...harness })),
    ];
  }, projectOf(params));
  return (
    <HydrationBoundary state={state}>
      <FleetPage dismissed={sent.get(DISMISSED_COOKIE)?.value ?? null} away={away ?? null} />
    </HydrationBoundary>
  );
}
