/** @jsxImportSource #jsx */
import { HydrationBoundary } from "@tanstack/react-query";
import type { Metadata } from "next";
import { PolicyPage } from "../../../components/policy/policy-page.tsx";
import { versionsQuery } from "../../../components/policy/versions-query.ts";
import { prefetch } from "../../prefetch.ts";
import { projectOf, type SearchParams } from "../../search.ts";

export const metadata: Metadata = { title: "Policies" };

export default async function Page({ searchParams }: { searchParams: SearchParams }) {
  const state = await prefetch(
    (trpc, client) => [
      client.prefetchQuery(trpc.policies.get.queryOptions()),
      client.prefetchQuery(trpc.policies.harnesses.queryOptions()),
      client.prefetchQuery(trpc.policies.rollout.queryOptions()),
      client.prefetchInfiniteQuery(
        trpc.policies.versions.infiniteQueryOptions(versionsQuery(), {
          getNextPageParam: (page) => page.next_cursor ?? undefined,
        }),
      ),
    ],
    projectOf(await searchParams),
  );
  return (
    <HydrationBoundary state={state}>
      <PolicyPage />
    </HydrationBoundary>
  );
}
