/** @jsxImportSource #jsx */
import { HydrationBoundary } from "@tanstack/react-query";
import type { Metadata } from "next";
import { AccountPage } from "../../../components/people/account-page.tsx";
import { prefetch } from "../../prefetch.ts";
import { projectOf, type SearchParams } from "../../search.ts";

export const metadata: Metadata = { title: "Your account" };

export default async function Page({ searchParams }: { searchParams: SearchParams }) {
  const state = await prefetch(
    (trpc, client) => [
      client.prefetchQuery(trpc.account.queryOptions()),
      client.prefetchQuery(trpc.passkeys.list.queryOptions()),
      client.prefetchQuery(trpc.keys.list.queryOptions()),
      client.prefetchQuery(trpc.browsers.list.queryOptions()),
    ],
    projectOf(await searchParams),
  );
  return (
    <HydrationBoundary state={state}>
      <AccountPage />
    </HydrationBoundary>
  );
}
