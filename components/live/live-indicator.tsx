"use client";

import { type LiveState, useLive } from "./live-provider.tsx";

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
