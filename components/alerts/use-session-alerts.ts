import type { AlertView } from "@plimsoll/protocol/api";
import { useQuery } from "@tanstack/react-query";
import { useMemo } from "react";
import { sessionAlertsInput } from "../session/session-queries.ts";
import { useTRPC } from "../trpc.ts";

export interface SessionAlerts {
  /** Open ones first, the worst first; then those that have ended, the newest first. */
  alerts: readonly AlertView[];
  /** Whether there are older ones. */
  more: boolean;
}

/** The alerts of a session. None while they load: the page is complete without them. */
export function useSessionAlerts(session: string): SessionAlerts {
  const trpc = useTRPC();
  const open = useQuery(trpc.alerts.list.queryOptions(sessionAlertsInput(session, "open")));
  const ended = useQuery(trpc.alerts.list.queryOptions(sessionAlertsInput(session, "ended")));
  return useMemo(() => {
    const stillOpen = open.data?.items ?? [];
    // An alert that ends between the two answers is in both.
    const ids = new Set(stillOpen.map(({ id }) => id));
    const others = (ended.data?.items ?? []).filter(({ id }) => !ids.has(id));
    return { alerts: [...stillOpen, ...others], more: (ended.data?.next_cursor ?? null) !== null };
  }, [open.data, ended.data]);
}
