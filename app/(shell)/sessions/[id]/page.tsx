import { HydrationBoundary } from "@tanstack/react-query";
import type { Metadata } from "next";
import { SessionPage } from "../../../../components/session/session-page.tsx";
import { prefetch } from "../../../prefetch.ts";
import { projectOf, type SearchParams } from "../../../search.ts";

export const metadata: Metadata = { title: "Session" };

interface Props {
  params: Promise<{ id: string }>;
  searchParams: SearchParams;
}

export default async function Page({ params, searchParams }: Props) {
  const { id } = await params;
  const state = await prefetch(
    (trpc, client) => [
      client.prefetchQuery(trpc.sessions.get.queryOptions({ id })),
      client.prefetchQuery(trpc.sessions.chart.queryOptions({ id })),
    ],
    projectOf(await searchParams),
  );
  return (
    <HydrationBoundary state={state}>
      <SessionPage id={id} />
    </HydrationBoundary>
  );
}
