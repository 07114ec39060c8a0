/** @jsxImportSource #jsx */
"use client";

import { clock } from "../format.ts";
import { isStale, type LiveConnection } from "./connection.ts";
import { useConnection } from "./live-provider.tsx";

const STATES: Readonly<Record<LiveConnection["state"], { label: string; hint: string; dot: string }>> = {
  connecting: { label: "Connecting", hint: "Connecting to the live stream", dot: "border border-faint" },
  live: { label: "Live", hint: "Numbers update as events arrive", dot: "bg-ok" },
  reconnecting: {
    label: "Reconnecting",
    hint: "The live stream is disconnected, so numbers may be out of date",
    dot: "border-2 border-warn",
  },
  paused: { label: "Paused", hint: "Updates pause while this tab is hidden", dot: "border border-faint" },
  server_down: { label: "Server down", hint: "The server does not respond", dot: "border-2 border-hard" },
  database_down: {
    label: "Database down",
    hint: "The database does not answer",
    dot: "border-2 border-hard",
  },
  stream_cut: {
    label: "Updates cut",
    hint: "Live updates do not arrive; numbers are read every few seconds",
    dot: "border-2 border-warn",
  },
};

export function LiveIndicator() {
  const connection = useConnection();
  if (connection === null) return null;
  const { label, hint, dot } = STATES[connection.state];
  return (
    <span
      role="status"
      data-testid="live"
      data-state={connection.state}
      title={hint}
      className="inline-flex items-center gap-1.5 text-[13px] text-muted"
    >
      <span aria-hidden className={`size-[7px] rounded-full ${dot}`} />
      {label}
      {isStale(connection) && (
        <span data-testid="stale" className="max-md:sr-only">
          · as of {clock(connection.since)}
        </span>
      )}
    </span>
  );
}
