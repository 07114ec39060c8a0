import type { ReportedCrossing } from "./mark.ts";
import type { ThresholdName, Thresholds } from "./threshold-rules.ts";
import { THRESHOLD_NAMES, thresholdTokens } from "./threshold-rules.ts";

/** Who found that a threshold was crossed: the server from a turn, the harness, or both. */
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
  for (const { threshold, tokens } of limitsOf(thresholds, level.windowTokens)) {
    const was = after.includes(threshold);
    const up = !was && level.contextTokens >= tokens;
    const down = was && level.contextTokens < tokens * (1 - HYSTERESIS);
    if (!up && !down) continue;
    after = up ? [...after, threshold] : after.filter((name) => name !== threshold);
    crossings ??= [];
    crossings.push({
      id: crossingId(threshold, up, level.turnKey),
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

interface Limit {
  threshold: ThresholdName;
  tokens: number;
}

/** The limits asked for last: most turns in a row have the same window size. */
const lastLimits = new WeakMap<Thresholds, { windowTokens: number | undefined; limits: readonly Limit[] }>();

/** The thresholds that are on, in tokens. */
function limitsOf(thresholds: Thresholds, windowTokens: number | undefined): readonly Limit[] {
  const last = lastLimits.get(thresholds);
  if (last !== undefined && last.windowTokens === windowTokens) return last.limits;
  const limits: Limit[] = [];
  for (const threshold of THRESHOLD_NAMES) {
    const tokens = thresholdTokens(threshold, thresholds[threshold], windowTokens);
    if (tokens !== undefined) limits.push({ threshold, tokens });
  }
  lastLimits.set(thresholds, { windowTokens, limits });
  return limits;
}

/** A level and the crossings at its turn. */
export interface KnownLevel extends Level {
  crossed: readonly KnownCrossing[];
}

export interface KnownCrossing {
  threshold: string;
  up: boolean;
  origin: CrossingOrigin;
}

/** A crossing as a harness reported it. `reportId` is the id of the event. */
export interface CrossingReport extends ReportedCrossing {
  reportId: string;
  at: number;
}

/** A report that matches no level by its tokens, with the crossing it was given for the time being. */
export interface UnmatchedReport {
  report: CrossingReport;
  /** Whether the crossing existed before the report; false if the report made it. */
  joined: boolean;
}

/** How many levels a report may look back. */
const LEVELS = 3;

/** Crossings to store, origins to change on crossings stored earlier, and crossings to delete. By crossing id. */
export interface CrossingChanges {
  crossings: Map<string, Crossing>;
  origins: Map<string, CrossingOrigin>;
  withdrawn: Map<string, Pick<Crossing, "threshold" | "up">>;
}

/** The part of the state that joins reports with levels. */
export interface ReportState {
  levels: readonly KnownLevel[];
  unmatched: readonly UnmatchedReport[];
}

/**
 * Joins a report with the derived crossing of the same threshold, direction and turn. A report belongs to the latest
 * level with exactly its tokens. Without one it belongs to the latest level, until the next level matches exactly.
 */
export function applyReport(
  state: ReportState,
  report: CrossingReport,
  changes: CrossingChanges,
): ReportState {
  const exact = state.levels.findLastIndex((level) => level.contextTokens === report.contextTokens);
  if (exact !== -1) return { ...state, levels: join(state.levels, exact, report, changes) };
  const last = state.levels.length - 1;
  const joined = last !== -1 && crossedAt(state.levels[last]!, report) !== undefined;
  return {
    levels: join(state.levels, last, report, changes),
    unmatched: [...state.unmatched, { report, joined }],
  };
}

/** Adds a level with the crossings derived from its turn, and moves the unmatched reports that mean this level. */
export function applyLevel(
  state: ReportState,
  level: Level,
  derived: readonly Crossing[],
  changes: CrossingChanges,
): ReportState {
  let { levels } = state;
  const matching = state.unmatched.filter(({ report }) => report.contextTokens === level.contextTokens);
  for (const { report, joined } of matching) levels = withdraw(levels, report, joined, changes);
  for (const crossing of derived) changes.crossings.set(crossing.id, crossing);
  const crossed = derived.map(({ threshold, up, origin }) => ({ threshold, up, origin }));
  levels = [...levels, { ...level, crossed }].slice(-LEVELS);
  for (const { report } of matching) levels = join(levels, levels.length - 1, report, changes);
  return { levels, unmatched: [] };
}

const NO_CROSSINGS: readonly KnownCrossing[] = [];

/** Adds a level without crossings to a list that the caller owns. */
export function appendLevel(levels: KnownLevel[], { turnKey, at, contextTokens, windowTokens }: Level): void {
  levels.push({ turnKey, at, contextTokens, windowTokens, crossed: NO_CROSSINGS });
  if (levels.length > LEVELS) levels.shift();
}

function crossedAt(level: KnownLevel, report: CrossingReport): KnownCrossing | undefined {
  return level.crossed.find(({ threshold, up }) => threshold === report.threshold && up === report.up);
}

function idOf(level: KnownLevel | undefined, { threshold, up, reportId }: CrossingReport): string {
  return level === undefined ? `reported/${reportId}` : crossingId(threshold, up, level.turnKey);
}

function crossingId(threshold: string, up: boolean, turnKey: string): string {
  return `${threshold}/${up ? "up" : "down"}/${turnKey}`;
}

/** Returns the levels with the report joined to the one at `index`; -1 for a report before any level. */
function join(
  levels: readonly KnownLevel[],
  index: number,
  report: CrossingReport,
  changes: CrossingChanges,
): readonly KnownLevel[] {
  const level = levels[index];
  const known = level && crossedAt(level, report);
  const id = idOf(level, report);
  if (known !== undefined) {
    const origin = known.origin === "derived" ? "both" : known.origin;
    setOrigin(changes, id, origin);
    return withCrossed(levels, index, [
      ...level!.crossed.filter((one) => one !== known),
      { ...known, origin },
    ]);
  }
  const { threshold, up, at, thresholdTokens, contextTokens } = report;
  changes.withdrawn.delete(id);
  changes.crossings.set(id, {
    id,
    threshold,
    up,
    origin: "reported",
    at,
    turnKey: level?.turnKey,
    thresholdTokens,
    contextTokens,
    windowTokens: level?.windowTokens,
  });
  if (level === undefined) return levels;
  return withCrossed(levels, index, [...level.crossed, { threshold, up, origin: "reported" }]);
}

/** Takes a report off the latest level. */
function withdraw(
  levels: readonly KnownLevel[],
  report: CrossingReport,
  joined: boolean,
  changes: CrossingChanges,
): readonly KnownLevel[] {
  const index = levels.length - 1;
  const level = levels[index];
  const id = idOf(level, report);
  const known = level && crossedAt(level, report);
  if (joined && known !== undefined) {
    const origin = known.origin === "both" ? "derived" : known.origin;
    setOrigin(changes, id, origin);
    return withCrossed(levels, index, [
      ...level!.crossed.filter((one) => one !== known),
      { ...known, origin },
    ]);
  }
  if (!changes.crossings.delete(id))
    changes.withdrawn.set(id, { threshold: report.threshold, up: report.up });
  return level === undefined
    ? levels
    : withCrossed(
        levels,
        index,
        level.crossed.filter((one) => one !== known),
      );
}

function setOrigin(changes: CrossingChanges, id: string, origin: CrossingOrigin): void {
  const crossing = changes.crossings.get(id);
  if (crossing === undefined) changes.origins.set(id, origin);
  else changes.crossings.set(id, { ...crossing, origin });
}

function withCrossed(
  levels: readonly KnownLevel[],
  index: number,
  crossed: readonly KnownCrossing[],
): readonly KnownLevel[] {
  return levels.map((level, at) => (at === index ? { ...level, crossed } : level));
}
