/** @jsxImportSource #jsx */
import { HydrationBoundary } from "@tanstack/react-query";
import type { Metadata } from "next";
import { InsightsPage } from "../../../components/insights/insights-page.tsx";
import { prefetch } from "../../prefetch.ts";
import { harnessOf, projectOf, type SearchParams } from "../../search.ts";

export const metadata: Metadata = { title: "Insights" };

export default async function Page({ searchParams }: { searchParams: SearchParams }) {
  const params = await searchParams;
  const chosen = harnessOf(params);
  const harness = chosen === undefined ? {} : { harness: chosen };
  const state = await prefetch(
    (trpc, client) => [client.prefetchQuery(trpc.extent.queryOptions(harness))],
    projectOf(params),
  );
  return (
    <HydrationBoundary state={state}>
      <InsightsPage />
    </HydrationBoundary>
  );
}
