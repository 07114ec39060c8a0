import { HydrationBoundary } from "@tanstack/react-query";
import type { Metadata } from "next";
import { SessionPage } from "../../../../components/session/session-page.tsx";
import { prefetch } from "../../../prefetch.ts";

export const metadata: Metadata = { title: "Session" };

export default async function Page({ params }: { params: Promise<{ id: string }> }) {
  const { id } = await params;
  const state = await prefetch((trpc, client) => [
    client.prefetchQuery(trpc.sessions.get.queryOptions({ id })),
    client.prefetchQuery(trpc.sessions.chart.queryOptions({ id })),
  ]);
  return (
    <HydrationBoundary state={state}>
      <SessionPage id={id} />
    </HydrationBoundary>
  );
}
