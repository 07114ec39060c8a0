import { standsAbove } from "../history/crossings.ts";
import { type AgentSight, atLevel, type Finding } from "./agent-sight.ts";
import type { ConditionField } from "./condition-kind.ts";

export const TURNS_FIELD: ConditionField = { label: "For turns in a row", kind: "number" };

/**
 * Finds out whether the level is at a limit, with hysteresis.
 * @param limit context tokens; undefined if the line or the window is unknown
 * @param turns how many turns in a row must reach it
 */
export function findLevel(
  sight: AgentSight,
  limit: number | undefined,
  turns: number,
  held: boolean,
): Finding {
  const { contextTokens, recent } = sight;
  if (limit === undefined || contextTokens === undefined || !standsAbove(held, contextTokens, limit))
    return atLevel(sight, false);
  if (held || turns === 1) return atLevel(sight, true);
  const last = recent.slice(-turns);
  return atLevel(sight, last.length === turns && last.every((level) => level >= limit));
}
