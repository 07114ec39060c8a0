"use client";

import type { PolicyBody, ReplayCall, ReplayView } from "@plimsoll/protocol";
import { useMutation, useQuery } from "@tanstack/react-query";
import { useEffect, useRef, useState } from "react";
import { useTRPC, useTRPCClient } from "../../trpc.ts";

/** Milliseconds between two questions for the progress. */
const ASK_MS = 250;

export type ReplayOptions = Omit<ReplayCall, "candidate">;

export interface Replay {
  view: ReplayView | undefined;
  /** What was replayed, as it was then. */
  candidate: PolicyBody | undefined;
  isRunning: boolean;
  error: { message: string } | null;
  start: (candidate: PolicyBody, options: ReplayOptions) => void;
  cancel: () => void;
}

/** A replay on the server. It ends when the page is left. */
export function useReplay(): Replay {
  const trpc = useTRPC();
  const api = useTRPCClient();
  const [candidate, setCandidate] = useState<PolicyBody>();
  const running = useRef<string | undefined>(undefined);
  const start = useMutation(trpc.replays.start.mutationOptions());
  const id = start.data?.id;
  const status = useQuery(
    trpc.replays.status.queryOptions(
      { id: id ?? "" },
      {
        enabled: id !== undefined,
        refetchInterval: ({ state }) => ((state.data?.state ?? "running") === "running" ? ASK_MS : false),
      },
    ),
  );
  const view = id === undefined ? undefined : (status.data ?? start.data);
  const isRunning = start.isPending || (view?.state === "running" && !status.isError);
  running.current = isRunning ? id : undefined;
  useEffect(
    () => () => {
      // Otherwise the server works on for nobody.
      if (running.current !== undefined)
        void api.replays.cancel.mutate({ id: running.current }).catch(() => {});
    },
    [api],
  );
  const failure = view?.state === "failed" ? { message: view.error ?? "The server gave no reason." } : null;
  return {
    view,
    candidate,
    isRunning,
    error: start.error ?? status.error ?? failure,
    start(policy, options) {
      setCandidate(policy);
      start.mutate({ candidate: policy, ...options });
    },
    cancel() {
      if (id !== undefined) void api.replays.cancel.mutate({ id }).catch(() => {});
    },
  };
}
