/** @jsxImportSource #jsx */
"use client";

import type { ChangedMessage, HealthNotice, LiveMessage } from "@plimsoll/protocol/api";
import { type QueryClient, useQueryClient } from "@tanstack/react-query";
import { createContext, type ReactNode, useContext, useEffect, useState, useSyncExternalStore } from "react";
import { projectUrl } from "../projects/current.tsx";
import { useProjects } from "../projects/use-projects.ts";
import { codeOf } from "../query-client.ts";
import { useTRPCClient } from "../trpc.ts";
import { refetchUrgency, type Urgency } from "./affected-queries.ts";
import { coalesce } from "./coalesce.ts";
import type { LiveConnection } from "./connection.ts";
import { monitorConnection, probeHealth } from "./connection-monitor.ts";
import { onHydrated } from "./hydrated-queries.ts";
import { invalidate } from "./invalidate.ts";
import { isFleet, refreshFleet } from "./refresh-fleet.ts";

const CONNECTING: LiveConnection = { state: "connecting" };

/** Not a context value: a boundary may hydrate after the connection has changed, and must then start from the server's. */
class ConnectionStore {
  #connection = CONNECTING;
  readonly #listeners = new Set<() => void>();

  readonly get = (): LiveConnection => this.#connection;

  readonly subscribe = (listener: () => void): (() => void) => {
    this.#listeners.add(listener);
    return () => void this.#listeners.delete(listener);
  };

  set(connection: LiveConnection): void {
    this.#connection = connection;
    for (const listener of this.#listeners) listener();
  }
}

const Live = createContext<ConnectionStore | null>(null);
const noSubscription = () => () => {};

/** The connection of the page to the server; null if the page needs none. */
export function useConnection(): LiveConnection | null {
  const store = useContext(Live);
  return useSyncExternalStore(store?.subscribe ?? noSubscription, store?.get ?? (() => null), () =>
    store === null ? null : CONNECTING,
  );
}

type ApiClient = ReturnType<typeof useTRPCClient>;

/** The server names changes at most twenty times a second, so this joins only what arrives together. */
const FAST_MS = 50;
/** Totals are read apart from the rows: they take the server longer, and rows would wait for them. */
const SOON_MS = 1000;
/** The buckets of a chart of an hour are 30 s long. */
const SLOW_MS = 10_000;
/** Delay before refetching charts, so that the live numbers load first. */
const SLOW_DELAY_MS = 600;
/** Delay before refetching what a new page brought, so that the page is on screen by then. */
const HYDRATED_DELAY_MS = 100;
const RETRY_MS = [500, 1000, 2000];
/** Seconds between two reads of all numbers while the stream is cut. */
export const POLL_SECONDS = 10;
const EVERYTHING: ChangedMessage = { type: "changed", sessions: null };

function refetch(client: QueryClient, urgency: Urgency, messages: ChangedMessage[]): Promise<void> {
  return invalidate(client, ({ queryKey, state }) => {
    const pages = (state.data as { pages?: unknown[] } | undefined)?.pages?.length;
    return refetchUrgency({ key: queryKey, pages }, messages) === urgency;
  });
}

async function refresh(client: QueryClient, api: ApiClient, messages: ChangedMessage[]): Promise<void> {
  await Promise.all([
    refreshFleet(client, (query) => api.fleetPart.query(query), messages),
    refetch(client, "fast", messages),
  ]);
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

/** How the server answers about a project in which the person has no role. */
const NO_ROLE: ReadonlySet<string | undefined> = new Set(["FORBIDDEN", "NOT_FOUND"]);

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
  const [store] = useState(() => new ConnectionStore());

  useEffect(() => {
    if (noProject) return;
    store.set(CONNECTING);
    const fast = coalesce<ChangedMessage>(FAST_MS, (messages) => refresh(client, api, messages));
    const soon = coalesce<ChangedMessage>(SOON_MS, (messages) => refetch(client, "soon", messages), FAST_MS);
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
    // The server does not resend messages missed while disconnected.
    let missed = false;
    let poll: ReturnType<typeof setInterval> | undefined;

    const monitor = monitorConnection(probeHealth, {
      changed(next) {
        clearInterval(poll);
        if (next.state === "live" && missed) {
          missed = false;
          void client.invalidateQueries();
        } else if (next.state !== "live" && next.state !== "connecting") missed = true;
        if (next.state === "stream_cut") {
          void client.invalidateQueries();
          poll = setInterval(() => void client.invalidateQueries(), POLL_SECONDS * 1000);
        }
        store.set(next);
      },
      silent: reopen,
    });

    function open(): void {
      source = new EventSource(projectUrl("/api/v1/live"));
      source.onopen = () => {
        failures = 0;
      };
      source.addEventListener("health", ({ data }) => {
        monitor.reported((JSON.parse(data) as HealthNotice).database);
      });
      source.onmessage = ({ data }) => {
        heard = true;
        monitor.heard();
        const message = JSON.parse(data) as LiveMessage;
        if (message.type === "policy") void invalidate(client, ({ queryKey }) => isOfPolicies(queryKey));
        // A policy moves the lines of any agent.
        const changed: ChangedMessage = message.type === "policy" ? EVERYTHING : message;
        fast.push(changed);
        soon.push(changed);
        slow.push(changed);
      };
      source.onerror = () => {
        // The browser stops reconnecting after some HTTP errors, so retry here.
        // A browser that was signed out learns it from an ordinary answer, and goes to the login page. A person who has no role
        // any more gets another list of projects, and a page that says so.
        if (failures === 0)
          void client.fetchQuery(stillSignedIn(api)).catch((error: unknown) => {
            if (NO_ROLE.has(codeOf(error))) void client.invalidateQueries();
          });
        monitor.failed();
        reopen();
      };
    }

    function reopen(): void {
      close();
      retry = setTimeout(open, RETRY_MS[Math.min(failures, RETRY_MS.length - 1)]);
      failures += 1;
    }

    function close(): void {
      clearTimeout(retry);
      source?.close();
      source = undefined;
      heard = false;
    }

    function onVisibilityChange(): void {
      close();
      const visible = document.visibilityState !== "hidden";
      monitor.show(visible);
      if (visible) open();
    }

    const stopWatching = onHydrated(client, (hash) => {
      if (heard) hydrated.push(hash);
    });
    onVisibilityChange();
    document.addEventListener("visibilitychange", onVisibilityChange);
    return () => {
      document.removeEventListener("visibilitychange", onVisibilityChange);
      stopWatching();
      monitor.stop();
      clearInterval(poll);
      close();
      fast.stop();
      soon.stop();
      slow.stop();
      hydrated.stop();
    };
  }, [client, api, noProject, store]);

  return <Live value={noProject ? null : store}>{children}</Live>;
}
