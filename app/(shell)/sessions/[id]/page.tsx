import { HydrationBoundary } from "@tanstack/react-query";
import type { Metadata } from "next";
import { SessionPage } from "../../../../components/session/session-page.tsx";
import {
  sessionAlertsInput,
  sessionTurnsInput,
  TURN_PAGES,
} from "../../../../components/session/session-queries.ts";
import { prefetch } from "../../../prefetch.ts";
import { one, projectOf, type SearchParams } from "../../../search.ts";

export const metadata: Metadata = { title: "Session" };

interface Props {
  params: Promise<{ id: string }>;
  searchParams: SearchParams;
}

export default async function Page({ params, searchParams }: Props) {
  const { id } = await params;
  const search = await searchParams;
  const [agent, turn] = [one(search.agent), one(search.turn)];
  const state = await prefetch(
    (trpc, client) => [
      client.prefetchQuery(trpc.sessions.get.queryOptions({ id })),
      client.prefetchQuery(trpc.sessions.chart.queryOptions({ id })),
      ...(["open", "ended"] as const).map((state) =>
        client.prefetchQuery(trpc.alerts.list.queryOptions(sessionAlertsInput(id, state))),
      ),
      ...(agent && turn
        ? [
            client.prefetchInfiniteQuery(
              trpc.sessions.turns.infiniteQueryOptions(sessionTurnsInput(id, agent, turn), TURN_PAGES),
            ),
          ]
        : []),
    ],
    projectOf(search),
  );
  return (
    <HydrationBoundary state={state}>
      <SessionPage id={id} />
    </HydrationBoundary>
  );
}
