"use client";

import type { AlertView } from "@plimsoll/protocol/api";
import { useQuery } from "@tanstack/react-query";
import { useEffect, useMemo } from "react";
import { useProjects } from "../projects/use-projects.ts";
import { useTRPC } from "../trpc.ts";
import { alarmIcon } from "./alarm-icon.ts";

/** The worst ones, which Fleet marks. */
const MOST_SHOWN = 500;

/** Open alerts, and endpoints that alerts do not reach; 0 while that is not known, or the URL names no project. */
export function useAlertCounts(): { firing: number; failingEndpoints: number } {
  const enabled = useProjects().current !== undefined;
  const { data } = useQuery(useTRPC().alerts.list.queryOptions({ limit: 1 }, { enabled }));
  return { firing: data?.firing ?? 0, failingEndpoints: data?.failing_endpoints ?? 0 };
}

/** Open alerts of agents, by agent id. */
export function useFiringAgents(): ReadonlyMap<string, AlertView[]> {
  const { data } = useQuery(useTRPC().alerts.list.queryOptions({ limit: MOST_SHOWN }));
  return useMemo(() => {
    const byAgent = new Map<string, AlertView[]>();
    for (const alert of data?.items ?? []) {
      if (alert.agent_id === null) continue;
      const others = byAgent.get(alert.agent_id);
      if (others === undefined) byAgent.set(alert.agent_id, [alert]);
      else others.push(alert);
    }
    return byAgent;
  }, [data]);
}

/** Shows the number of open alerts in the browser's tab: before the title and on the icon. */
export function useFiringTitle(firing: number): void {
  useEffect(() => {
    if (firing === 0) return;
    const icon = document.querySelector<HTMLLinkElement>("link[rel='icon']");
    const calm = icon?.getAttribute("href");
    icon?.setAttribute("href", alarmIcon(firing));
    const mark = `(${firing}) `;
    const add = () => {
      if (!document.title.startsWith(mark)) document.title = mark + document.title.replace(/^\(\d+\) /, "");
    };
    add();
    // Each page sets its own title.
    const observer = new MutationObserver(add);
    observer.observe(document.head, { childList: true, subtree: true, characterData: true });
    return () => {
      observer.disconnect();
      document.title = document.title.replace(/^\(\d+\) /, "");
      if (calm != null) icon?.setAttribute("href", calm);
    };
  }, [firing]);
}
