/** @jsxImportSource #jsx */
import { HydrationBoundary } from "@tanstack/react-query";
import type { Metadata } from "next";
import { ComparePage } from "../../../../components/compare/compare-page.tsx";
import { prefetch } from "../../../prefetch.ts";
import { one, projectOf, type SearchParams } from "../../../search.ts";

export const metadata: Metadata = { title: "Compare sessions" };

export default async function Page({ searchParams }: { searchParams: SearchParams }) {
  const params = await searchParams;
  const ids = [one(params.a) ?? "", one(params.b) ?? ""];
  const state = await prefetch(
    (trpc, client) =>
      ids.flatMap((id) => [
        client.prefetchQuery(trpc.sessions.get.queryOptions({ id })),
        client.prefetchQuery(trpc.sessions.chart.queryOptions({ id })),
      ]),
    projectOf(params),
  );
  return (
    <HydrationBoundary state={state}>
      <ComparePage />
    </HydrationBoundary>
  );
}
