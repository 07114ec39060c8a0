/** @jsxImportSource #jsx */
import { HydrationBoundary } from "@tanstack/react-query";
import type { Metadata } from "next";
import { createLoader } from "nuqs/server";
import { AlertsPage } from "../../../components/alerts/alerts-page.tsx";
import { alertFilters, alertsInput, deliveriesInput } from "../../../components/alerts/filters.ts";
import { prefetch } from "../../prefetch.ts";
import { projectOf, type SearchParams } from "../../search.ts";

export const metadata: Metadata = { title: "Alerts" };

const filtersOf = createLoader(alertFilters);

export default async function Page({ searchParams }: { searchParams: SearchParams }) {
  const params = await searchParams;
  const filters = filtersOf(params);
  const state = await prefetch(
    (trpc, client) => [
      client.prefetchQuery(trpc.alerts.list.queryOptions(alertsInput(filters))),
      client.prefetchQuery(trpc.alerts.rules.list.queryOptions()),
      client.prefetchQuery(trpc.alerts.timeline.queryOptions()),
      client.prefetchQuery(trpc.alerts.silences.list.queryOptions()),
      client.prefetchQuery(trpc.alerts.endpoints.list.queryOptions()),
      client.prefetchQuery(trpc.alerts.deliveries.list.queryOptions(deliveriesInput(filters))),
    ],
    projectOf(params),
  );
  return (
    <HydrationBoundary state={state}>
      <AlertsPage />
    </HydrationBoundary>
  );
}
