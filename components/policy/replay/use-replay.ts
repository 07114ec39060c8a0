"use client";

import type { ReplayCall, ReplayView } from "@plimsoll/protocol/api";
import type { PolicyBody } from "@plimsoll/protocol/policy";
import { useMutation, useQuery } from "@tanstack/react-query";
import { useCallback, useEffect, useRef, useState } from "react";
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
  // Whether somebody still wants the replay. It may be cancelled before the server has told its id.
  const wanted = useRef(false);
  const cancelOnServer = useCallback(
    (replay: string) => void api.replays.cancel.mutate({ id: replay }).catch(() => {}),
    [api],
  );
  const start = useMutation({
    ...trpc.replays.start.mutationOptions(),
    onSuccess: ({ id: replay }) => {
      if (!wanted.current) cancelOnServer(replay);
    },
  });
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
      wanted.current = false;
      if (running.current !== undefined) cancelOnServer(running.current);
    },
    [cancelOnServer],
  );
  const failure = view?.state === "failed" ? { message: view.error ?? "The server gave no reason." } : null;
  return {
    view,
    candidate,
    isRunning,
    error: start.error ?? status.error ?? failure,
    start(policy, options) {
      wanted.current = true;
      setCandidate(policy);
      start.mutate({ candidate: policy, ...options });
    },
    cancel() {
      wanted.current = false;
      if (start.isSuccess) cancelOnServer(start.data.id);
    },
  };
}
