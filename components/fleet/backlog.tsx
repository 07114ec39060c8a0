/** @jsxImportSource #jsx */
"use client";

import { useQuery } from "@tanstack/react-query";
import { Chip } from "../shell/page-header.tsx";
import { backlogText } from "./backlog-text.ts";
import { useFleetQueries } from "./use-fleet-queries.ts";

/** Milliseconds between two reads while events are missing. Most changes arrive earlier, over the live stream. */
const RECHECK_MS = 2_000;

/** Says how many accepted events the numbers of the page do not include yet. Empty if they include all. */
export function Backlog() {
  const { data: events = 0 } = useQuery({
    ...useFleetQueries().status,
    select: ({ behind }) => behind?.events ?? 0,
    refetchInterval: ({ state }) => (state.data?.behind ? RECHECK_MS : false),
  });
  return (
    <span role="status" data-testid="backlog" className="min-w-0">
      {events > 0 && (
        <Chip
          tone="warn"
          title="The server has accepted these events. The numbers on this page do not include them yet."
        >
          {backlogText(events)}
        </Chip>
      )}
    </span>
  );
}
