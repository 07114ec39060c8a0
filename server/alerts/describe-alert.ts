import { forecast, utilizationOf } from "@plimsoll/fold";
import type { AlertBoundary, AlertLevel } from "@plimsoll/protocol/alerts";
import { loadOf } from "@plimsoll/protocol/policy";
import { exact, loadPercent } from "@plimsoll/protocol/pure";
import { iso } from "../times.ts";
import { type AgentCondition, type AgentSight, limitOf, type SeenBoundary } from "./agent-conditions.ts";

export const counted = (count: number, word: string) => `${exact(count)} ${word}${count === 1 ? "" : "s"}`;

/** `45 s`, `12 min` or `3.5 h`. */
export function durationText(ms: number): string {
  if (ms < 120_000) return `${Math.round(ms / 1_000)} s`;
  return ms < 7_200_000 ? `${Math.round(ms / 60_000)} min` : `${Math.round(ms / 360_000) / 10} h`;
}

/** In plain words, why a condition holds for an agent. */
export function whyOf(condition: AgentCondition, sight: AgentSight): string {
  const tokens = sight.contextTokens ?? 0;
  const { line } = sight;
  switch (condition.type) {
    case "threshold": {
      const name = condition.threshold === "line" ? (line?.threshold ?? "line") : condition.threshold;
      const at = line?.threshold === name ? ` (${exact(line.tokens)} tokens)` : "";
      return `${exact(tokens)} context tokens crossed the ${name}${at}`;
    }
    case "load":
      return `Load ${loadPercent(loadOf(tokens, line) ?? 0)} of the ${line?.threshold ?? "line"} (${exact(line?.tokens ?? 0)} tokens)${forTurns(condition.turns)}`;
    case "utilization":
      return `${loadPercent(utilizationOf(tokens, sight.windowTokens) ?? 0)} of the window (${exact(sight.windowTokens ?? 0)} tokens)${forTurns(condition.turns)}`;
    case "tokens":
      return `${exact(tokens)} context tokens, at or above ${exact(limitOf(condition, sight) ?? 0)}${forTurns(condition.turns)}`;
    case "forecast":
      return forecastText(sight);
    case "window_suspect":
      return `${loadPercent(utilizationOf(tokens, sight.windowTokens) ?? 0)} of the window: its size of ${exact(sight.windowTokens ?? 0)} tokens is probably wrong`;
    case "window_unknown":
      return "Nobody knows the size of the window";
    case "unexplained_fall":
      return `${fallText(sight.boundaries.find(({ type }) => type === "unexplained"))} without an explanation`;
    case "truncation_suspected":
      return `${fallText(sight.boundaries.find(({ hint }) => hint === "truncation_suspected"))}: the model's server probably dropped the oldest messages`;
    case "small_reclaim":
      return `A ${sight.boundaries[0]?.type ?? "compacted"} boundary freed less than ${exact(condition.below_tokens)} tokens`;
    case "thrash":
      return `${condition.boundaries} boundaries within ${condition.within_turns} turns`;
    case "boundaries_per_hour": {
      const count = sight.boundaries.filter(({ type }) => type === condition.boundary).length;
      return `${counted(count, condition.boundary === "subtick" ? "sub-tick" : "restart")} within an hour`;
    }
    case "restart_limit":
      return `Restart ${exact(sight.boundaries.find(({ type }) => type === "restarted")?.number ?? 0)} of this agent`;
  }
}

const forTurns = (turns: number) => (turns === 1 ? "" : ` for ${turns} turns`);

function forecastText({ recent, line }: AgentSight): string {
  const { turns } = forecast(recent, line?.tokens);
  if (turns === undefined) return `The ${line?.threshold ?? "line"} is passed`;
  return `${counted(turns, "turn")} left to the ${line?.threshold ?? "line"} (${exact(line?.tokens ?? 0)} tokens)`;
}

function fallText(fall: SeenBoundary | undefined): string {
  const [before, after] = [fall?.tokensBefore, fall?.tokensAfter];
  if (before === undefined || after === undefined) return "The level fell";
  return `The level fell from ${exact(before)} to ${exact(after)} tokens`;
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
