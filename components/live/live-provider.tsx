"use client";

import type { ChangedMessage, LiveMessage } from "@plimsoll/protocol";
import { type QueryClient, useQueryClient } from "@tanstack/react-query";
import { createContext, type ReactNode, useContext, useEffect, useState } from "react";
import { projectUrl } from "../projects/current.tsx";
import { useProjects } from "../projects/use-projects.ts";
import { useTRPCClient } from "../trpc.ts";
import { refetchUrgency, type Urgency } from "./affected-queries.ts";
import { coalesce } from "./coalesce.ts";
import { onHydrated } from "./hydrated-queries.ts";
import { invalidate } from "./invalidate.ts";
import { isFleet, refreshFleet } from "./refresh-fleet.ts";

export type LiveState = "connecting" | "live" | "reconnecting" | "paused";

const Live = createContext<LiveState | null>("connecting");
/** Null if the page needs no stream. */
export function useLive(): LiveState | null {
  return useContext(Live);
}

type ApiClient = ReturnType<typeof useTRPCClient>;

const FAST_MS = 100;
const SLOW_MS = 2000;
/** Delay before refetching charts, so that the live numbers load first. */
const SLOW_DELAY_MS = 600;
/** Delay before refetching what a new page brought, so that the page is on screen by then. */
const HYDRATED_DELAY_MS = 100;
const RETRY_MS = [500, 1000, 2000, 5000];
const EVERYTHING: ChangedMessage = { type: "changed", sessions: null };

function refetch(client: QueryClient, urgency: Urgency, messages: ChangedMessage[]): Promise<void> {
  return invalidate(client, ({ queryKey, state }) => {
    const pages = (state.data as { pages?: unknown[] } | undefined)?.pages?.length;
    return refetchUrgency({ key: queryKey, pages }, messages) === urgency;
  });
}

/** Refreshes the fleet rows first; other queries must not delay them. */
async function refresh(client: QueryClient, api: ApiClient, messages: ChangedMessage[]): Promise<void> {
  await refreshFleet(client, (query) => api.fleetPart.query(query), messages);
  await refetch(client, "fast", messages);
}

/** Refetches queries whose data was read before the page could hear of changes to it. */
function refetchHydrated(client: QueryClient, hashes: string[]): Promise<void> {
  const hydrated = new Set(hashes);
  return client.invalidateQueries({
    predicate: (query) =>
      hydrated.has(query.queryHash) &&
      (isFleet(query) || refetchUrgency({ key: query.queryKey, pages: undefined }, [EVERYTHING]) !== null),
  });
}

const isOfPolicies = (key: readonly unknown[]) => Array.isArray(key[0]) && key[0][0] === "policies";

const stillSignedIn = (api: ApiClient) => ({
  queryKey: ["still signed in"],
  queryFn: () => api.instance.query(),
  staleTime: 0,
  gcTime: 0,
  retry: false,
});

/** Opens one event stream for the page. A message names changed sessions; the affected queries are refetched. */
export function LiveProvider({ children }: { children: ReactNode }) {
  const client = useQueryClient();
  const api = useTRPCClient();
  const { projects, current } = useProjects();
  const noProject = projects !== undefined && current === undefined;
  const [state, setState] = useState<LiveState>("connecting");

  useEffect(() => {
    if (noProject) return;
    const fast = coalesce<ChangedMessage>(FAST_MS, (messages) => refresh(client, api, messages));
    const slow = coalesce<ChangedMessage>(
      SLOW_MS,
      (messages) => refetch(client, "slow", messages),
      SLOW_DELAY_MS,
    );
    const hydrated = coalesce<string>(
      FAST_MS,
      (hashes) => refetchHydrated(client, hashes),
      HYDRATED_DELAY_MS,
    );
    let source: EventSource | undefined;
    // The first message of a stream refetches everything that is on the page by then.
    let heard = false;
    let retry: ReturnType<typeof setTimeout> | undefined;
    let failures = 0;
    let missed = false;

    function open(): void {
      source = new EventSource(projectUrl("/api/v1/live"));
      source.onopen = () => {
        failures = 0;
        setState("live");
        // The server does not resend messages missed while disconnected.
        if (missed) void client.invalidateQueries();
        missed = false;
      };
      source.onmessage = ({ data }) => {
        heard = true;
        const message = JSON.parse(data) as LiveMessage;
        if (message.type === "policy") void invalidate(client, ({ queryKey }) => isOfPolicies(queryKey));
        // A policy moves the lines of any agent.
        const changed: ChangedMessage = message.type === "policy" ? EVERYTHING : message;
        fast.push(changed);
        slow.push(changed);
      };
      source.onerror = () => {
        // The browser stops reconnecting after some HTTP errors, so retry here.
        close();
        missed = true;
        // A browser that was signed out learns it from an ordinary answer, and goes to the login page.
        if (failures === 0) void client.fetchQuery(stillSignedIn(api)).catch(() => {});
        setState("reconnecting");
        retry = setTimeout(open, RETRY_MS[Math.min(failures, RETRY_MS.length - 1)]);
        failures += 1;
      };
    }

    function close(): void {
      clearTimeout(retry);
      source?.close();
      source = undefined;
      heard = false;
    }

    function onVisibilityChange(): void {
      close();
      if (document.visibilityState === "hidden") {
        missed = true;
        setState("paused");
      } else {
        open();
      }
    }

    const stopWatching = onHydrated(client, (hash) => {
      if (heard) hydrated.push(hash);
    });
    onVisibilityChange();
    document.addEventListener("visibilitychange", onVisibilityChange);
    return () => {
      document.removeEventListener("visibilitychange", onVisibilityChange);
      stopWatching();
      close();
      fast.stop();
      slow.stop();
      hydrated.stop();
    };
  }, [client, api, noProject]);

  return <Live value={noProject ? null : state}>{children}</Live>;
}
