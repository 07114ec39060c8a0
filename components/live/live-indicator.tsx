"use client";

import { type LiveState, useLive } from "./live-provider.tsx";

const STATES: Readonly<Record<LiveState, { label: string; hint: string; dot: string }>> = {
  connecting: { label: "Connecting", hint: "Connecting to the live stream", dot: "border border-faint" },
  live: { label: "Live", hint: "Numbers update as events arrive", dot: "bg-ok" },
  reconnecting: {
    label: "Reconnecting",
    hint: "The live stream is disconnected, so numbers may be out of date",
    dot: "border-2 border-warn",
  },
  paused: { label: "Paused", hint: "Updates pause while this tab is hidden", dot: "border border-faint" },
};

export function LiveIndicator() {
  const state = useLive();
  if (state === null) return null;
  const { label, hint, dot } = STATES[state];
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
