"use client";

import type { LiveMessage } from "@plimsoll/protocol";
import { type QueryClient, useQueryClient } from "@tanstack/react-query";
import { createContext, type ReactNode, useContext, useEffect, useState } from "react";
import { type Urgency, urgencyOf } from "./affected.ts";
import { coalesce } from "./coalesce.ts";
import { followFleet } from "./fleet/follow.ts";
import { projectUrl } from "./projects/current.tsx";
import { useTRPCClient } from "./trpc.ts";

export type LiveState = "connecting" | "live" | "reconnecting" | "paused";

const Live = createContext<LiveState>("connecting");
export function useLive(): LiveState {
  return useContext(Live);
}

type Api = ReturnType<typeof useTRPCClient>;

const FAST_MS = 100;
const SLOW_MS = 2000;
/** History is redrawn only after the numbers people watch had the connection to themselves. */
const SLOW_DELAY_MS = 600;
const RETRY_MS = [500, 1000, 2000, 5000];

function refetch(client: QueryClient, urgency: Urgency, messages: LiveMessage[]): Promise<void> {
  return client.invalidateQueries({
    predicate: ({ queryKey, state }) => {
      const pages = (state.data as { pages?: unknown[] } | undefined)?.pages?.length;
      return urgencyOf({ key: queryKey, pages }, messages) === urgency;
    },
  });
}

/** The rows people watch first; all else must not delay them. */
async function follow(client: QueryClient, api: Api, messages: LiveMessage[]): Promise<void> {
  await followFleet(client, (query) => api.fleetPart.query(query), messages);
  await refetch(client, "fast", messages);
}

/** One event stream for the whole page. It says that something changed, never what: the queries concerned ask again. */
export function LiveProvider({ children }: { children: ReactNode }) {
  const client = useQueryClient();
  const api = useTRPCClient();
  const [state, setState] = useState<LiveState>("connecting");

  useEffect(() => {
    const fast = coalesce<LiveMessage>(FAST_MS, (messages) => follow(client, api, messages));
    const slow = coalesce<LiveMessage>(
      SLOW_MS,
      (messages) => refetch(client, "slow", messages),
      SLOW_DELAY_MS,
    );
    let source: EventSource | undefined;
    let retry: ReturnType<typeof setTimeout> | undefined;
    let failures = 0;
    let missed = false;

    function open(): void {
      source = new EventSource(projectUrl("/api/v1/live"));
      source.onopen = () => {
        failures = 0;
        setState("live");
        // What happened while nobody listened is not sent again.
        if (missed) void client.invalidateQueries();
        missed = false;
      };
      source.onmessage = ({ data }) => {
        const message = JSON.parse(data) as LiveMessage;
        if (message.type !== "changed") return;
        fast.push(message);
        slow.push(message);
      };
      source.onerror = () => {
        // The browser gives up for good on some answers, so the retrying is done here.
        close();
        missed = true;
        setState("reconnecting");
        retry = setTimeout(open, RETRY_MS[Math.min(failures, RETRY_MS.length - 1)]);
        failures += 1;
      };
    }

    function close(): void {
      clearTimeout(retry);
      source?.close();
      source = undefined;
    }

    function followVisibility(): void {
      close();
      if (document.visibilityState === "hidden") {
        missed = true;
        setState("paused");
      } else {
        open();
      }
    }

    followVisibility();
    document.addEventListener("visibilitychange", followVisibility);
    return () => {
      document.removeEventListener("visibilitychange", followVisibility);
      close();
      fast.stop();
      slow.stop();
    };
  }, [client, api]);

  return <Live value={state}>{children}</Live>;
}

const WORDS: Readonly<Record<LiveState, { label: string; hint: string; dot: string }>> = {
  connecting: { label: "Connecting", hint: "Opening the live connection", dot: "border border-faint" },
  live: { label: "Live", hint: "Numbers move as events arrive", dot: "bg-ok" },
  reconnecting: {
    label: "Reconnecting",
    hint: "The live connection broke; what you see may be old until it is back",
    dot: "border-2 border-warn",
  },
  paused: { label: "Paused", hint: "Paused while this tab was hidden", dot: "border border-faint" },
};

export function LiveIndicator() {
  const state = useLive();
  const { label, hint, dot } = WORDS[state];
  return (
    <span
      role="status"
      data-testid="live"
      data-state={state}
      title={hint}
      className="inline-flex items-center gap-1.5 text-[13px] text-muted"
    >
      <span aria-hidden className={`size-[7px] rounded-full ${dot}`} />
      {label}
    </span>
  );
}
