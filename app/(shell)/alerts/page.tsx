/** @jsxImportSource #jsx */
import { HydrationBoundary } from "@tanstack/react-query";
import type { Metadata } from "next";
import { AlertsPage } from "../../../components/alerts/alerts-page.tsx";
import { FIRING_SHOWN } from "../../../components/alerts/use-firing.ts";
import { prefetch } from "../../prefetch.ts";
import { projectOf, type SearchParams } from "../../search.ts";

export const metadata: Metadata = { title: "Alerts" };

export default async function Page({ searchParams }: { searchParams: SearchParams }) {
  const state = await prefetch(
    (trpc, client) => [
      client.prefetchQuery(trpc.alerts.list.queryOptions({ state: "open", limit: FIRING_SHOWN })),
      client.prefetchQuery(trpc.alerts.rules.list.queryOptions()),
      client.prefetchQuery(trpc.alerts.timeline.queryOptions()),
      client.prefetchQuery(trpc.alerts.silences.list.queryOptions()),
      client.prefetchQuery(trpc.alerts.endpoints.list.queryOptions()),
      client.prefetchQuery(trpc.alerts.deliveries.list.queryOptions({})),
    ],
    projectOf(await searchParams),
  );
  return (
    <HydrationBoundary state={state}>
      <AlertsPage />
    </HydrationBoundary>
  );
}
