/** @jsxImportSource #jsx */
import type { SessionDetail } from "@plimsoll/protocol/api";
import { visibleText } from "@plimsoll/protocol/pure";
import { type DehydratedState, HydrationBoundary } from "@tanstack/react-query";
import type { Metadata } from "next";
import { cache } from "react";
import { SessionPage } from "../../../../components/session/session-page.tsx";
import {
  sessionAlertsInput,
  sessionTurnsInput,
  TURN_PAGES,
} from "../../../../components/session/session-queries.ts";
import { titleOf } from "../../../../components/words.ts";
import { prefetch } from "../../../prefetch.ts";
import { one, projectOf, type SearchParams } from "../../../search.ts";

interface Props {
  params: Promise<{ id: string }>;
  searchParams: SearchParams;
}

/** The title needs the session, so the page and its metadata share one load. */
const load = cache(
  (
    id: string,
    project: string | undefined,
    agent: string | undefined,
    turn: string | undefined,
  ): Promise<DehydratedState> =>
    prefetch(
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
      project,
    ),
);

async function loadFor({ params, searchParams }: Props) {
  const { id } = await params;
  const search = await searchParams;
  return { id, state: await load(id, projectOf(search), one(search.agent), one(search.turn)) };
}

export async function generateMetadata(props: Props): Promise<Metadata> {
  const { state } = await loadFor(props);
  return { title: visibleText(titleIn(state) ?? "Session") };
}

function titleIn({ queries }: DehydratedState): string | undefined {
  const found = queries.find(
    ({ queryKey: [path] }) => Array.isArray(path) && path.join(".") === "sessions.get",
  );
  const detail = found?.state.data as SessionDetail | undefined;
  return detail && titleOf(detail.session);
}

export default async function Page(props: Props) {
  const { id, state } = await loadFor(props);
  return (
    <HydrationBoundary state={state}>
      <SessionPage id={id} />
    </HydrationBoundary>
  );
}
