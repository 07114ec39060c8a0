import type { AgentSight } from "@plimsoll/fold";
import type { AlertBoundary, AlertLevel } from "@plimsoll/protocol/alerts";
import { iso } from "../times.ts";

/** `45 s`, `12 min` or `3.5 h`. */
export function durationText(ms: number): string {
  if (ms < 120_000) return `${Math.round(ms / 1_000)} s`;
  return ms < 7_200_000 ? `${Math.round(ms / 60_000)} min` : `${Math.round(ms / 360_000) / 10} h`;
}

export function levelOf({ contextTokens, windowTokens, line }: AgentSight): AlertLevel | null {
  if (contextTokens === undefined) return null;
  return {
    context_tokens: contextTokens,
    window_tokens: windowTokens ?? null,
    line: line?.threshold ?? null,
    line_tokens: line === undefined ? null : Math.round(line.tokens),
  };
}

/** The last three boundaries before an alert, newest first. */
export function boundariesOf({ boundaries }: AgentSight): AlertBoundary[] {
  return boundaries.slice(0, 3).map(({ type, at, tokensBefore, tokensAfter }) => ({
    type,
    at: iso(at),
    tokens_before: tokensBefore ?? null,
    tokens_after: tokensAfter ?? null,
  }));
}
