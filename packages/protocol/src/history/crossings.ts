import type { MarkFacts } from "./mark.ts";
import type { ThresholdName, Thresholds } from "./threshold-rules.ts";
import { THRESHOLD_NAMES, thresholdTokens } from "./threshold-rules.ts";
import { compareText } from "./timeline.ts";

/** Who said that a threshold was crossed. */
export const CROSSING_ORIGINS = ["derived", "reported", "both"] as const;
export type CrossingOrigin = (typeof CROSSING_ORIGINS)[number];

export interface Crossing {
  /** Stable within the agent, whatever the order of arrival. */
  id: string;
  threshold: string;
  up: boolean;
  origin: CrossingOrigin;
  /** Epoch ms. */
  at: number;
  turnKey: string | undefined;
  thresholdTokens: number;
  contextTokens: number;
  windowTokens: number | undefined;
}

/** A level must fall this share below a threshold before the threshold counts as left: no flapping on its edge. */
export const HYSTERESIS = 0.05;

/** The level of one turn, as crossings see it. */
export interface Level {
  turnKey: string;
  at: number;
  contextTokens: number;
  windowTokens: number | undefined;
}

/**
 * Which thresholds one turn crosses. `above` names those the agent stands over; the second result is that list after
 * the turn. A threshold that is off, or needs a window size nobody knows, is neither crossed nor left.
 */
export function crossingsOf(
  above: readonly ThresholdName[],
  level: Level,
  thresholds: Thresholds,
): { crossings: Crossing[]; above: readonly ThresholdName[] } {
  let crossings: Crossing[] | undefined;
  let after = above;
  for (const threshold of THRESHOLD_NAMES) {
    const tokens = thresholdTokens(threshold, thresholds[threshold], level.windowTokens);
    if (tokens === undefined) continue;
    const was = after.includes(threshold);
    const up = !was && level.contextTokens >= tokens;
    const down = was && level.contextTokens < tokens * (1 - HYSTERESIS);
    if (!up && !down) continue;
    after = up ? [...after, threshold] : after.filter((name) => name !== threshold);
    crossings ??= [];
    crossings.push({
      id: `${threshold}/${up ? "up" : "down"}/${level.turnKey}`,
      threshold,
      up,
      origin: "derived",
      at: level.at,
      turnKey: level.turnKey,
      thresholdTokens: tokens,
      contextTokens: level.contextTokens,
      windowTokens: level.windowTokens,
    });
  }
  return { crossings: crossings ?? [], above: after };
}

/**
 * Joins what the harness reported with what was derived from its turns: a report and a derived crossing of the same
 * threshold, direction and turn are one crossing. A report belongs to the turn with its very level, nearest in time
 * among those before it and the first after it; else to the last turn before it.
 */
export function reconcileCrossings(
  derived: readonly Crossing[],
  reports: readonly MarkFacts[],
  levels: readonly Level[],
): Crossing[] {
  const joined = new Map(derived.map((crossing) => [crossing.id, crossing]));
  for (const report of [...reports].sort((a, b) => a.at - b.at || compareText(a.id, b.id))) {
    const said = report.crossing;
    if (said === undefined) continue;
    const level = levelOf(report.at, said.contextTokens, levels);
    const id = `${said.threshold}/${said.up ? "up" : "down"}/${level?.turnKey}`;
    const known = level === undefined ? undefined : joined.get(id);
    if (known !== undefined) {
      joined.set(id, { ...known, origin: known.origin === "reported" ? "reported" : "both" });
      continue;
    }
    const own = level === undefined ? `reported/${report.id}` : id;
    joined.set(own, {
      id: own,
      threshold: said.threshold,
      up: said.up,
      origin: "reported",
      at: report.at,
      turnKey: level?.turnKey,
      thresholdTokens: said.thresholdTokens,
      contextTokens: said.contextTokens,
      windowTokens: level?.windowTokens,
    });
  }
  return [...joined.values()];
}

function levelOf(at: number, contextTokens: number, levels: readonly Level[]): Level | undefined {
  const firstAfter = firstLevelAfter(at, levels);
  let exact: Level | undefined;
  let before: Level | undefined;
  for (const level of levels) {
    const near = level.at <= at || level.at === firstAfter;
    if (near && level.contextTokens === contextTokens) {
      if (exact === undefined || Math.abs(level.at - at) < Math.abs(exact.at - at)) exact = level;
    }
    if (level.at <= at && (before === undefined || level.at >= before.at)) before = level;
  }
  return exact ?? before;
}

/** Time of the earliest level later than `at`. */
export function firstLevelAfter(at: number, levels: readonly Level[]): number | undefined {
  let first: number | undefined;
  for (const level of levels)
    if (level.at > at && (first === undefined || level.at < first)) first = level.at;
  return first;
}
