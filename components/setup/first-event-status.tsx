/** @jsxImportSource #jsx */
"use client";

import { useQuery } from "@tanstack/react-query";
import { Check } from "lucide-react";
import { useMinute } from "../clock.tsx";
import { resolveRange } from "../range.ts";
import { useTRPC } from "../trpc.ts";

/** Polling interval, in case the live stream cannot connect. */
const POLL_MS = 3000;

export function FirstEventStatus() {
  const trpc = useTRPC();
  const { from, to } = resolveRange({ last: "24h" }, useMinute());
  const { data } = useQuery(
    trpc.status.queryOptions(
      { from, to },
      {
        placeholderData: (previous) => previous,
        // Not after an error: each attempt would replace the message and its button by a placeholder.
        refetchInterval: ({ state }) => (state.data?.has_events === false ? POLL_MS : false),
      },
    ),
  );
  const arrived = data?.has_events === true;
  return (
    <p
      role="status"
      data-testid="first-event"
      data-arrived={arrived}
      className="flex min-h-5 items-center gap-2 text-[13px] text-muted"
    >
      {data === undefined ? null : arrived ? (
        <>
          <Check aria-hidden className="size-4 text-ok" /> Events are arriving
        </>
      ) : (
        <>
          <span aria-hidden className="skeleton size-2 rounded-full! bg-accent!" /> Waiting for the first
          event
        </>
      )}
    </p>
  );
}
