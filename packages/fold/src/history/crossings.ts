import {
  type CrossingOrigin,
  THRESHOLD_NAMES,
  type ThresholdName,
  type Thresholds,
  thresholdTokens,
} from "@plimsoll/protocol/pure";
import type { ReportedCrossing } from "./mark.ts";
import { isThreshold } from "./reported-lines.ts";

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

/** Whether a level is above a threshold, if the level before it was or was not. */
export function standsAbove(was: boolean, contextTokens: number, thresholdTokens: number): boolean {
  return contextTokens >= (was ? thresholdTokens * (1 - HYSTERESIS) : thresholdTokens);
}

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
    const up = standsAbove(was, level.contextTokens, tokens);
    if (up === was) continue;
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

/** A crossing exists as long as it was derived or a report says so. */
export interface KnownCrossing {
  threshold: string;
  up: boolean;
  derived: boolean;
  reports: readonly CrossingReport[];
}

/** A crossing as a harness reported it. `reportId` is the id of the event. */
export interface CrossingReport extends ReportedCrossing {
  reportId: string;
  at: number;
}

/** How many levels a report may look back. */
const LEVELS = 3;
/** Reports that wait for the next level. Earlier ones stay with the level they have. */
const MOST_UNMATCHED = 16;
/** Crossings of one level, those of the five thresholds apart. A harness may name as many others as it likes. */
const MOST_CROSSED = 16;

/**
 * Crossings to delete, then crossings to store, then origins to change on crossings stored earlier. By crossing id, and
 * in this order: a crossing whose only report moved away may be deleted and stored again with what another report says.
 */
export interface CrossingChanges {
  crossings: Map<string, Crossing>;
  origins: Map<string, CrossingOrigin>;
  withdrawn: Map<string, Pick<Crossing, "threshold" | "up">>;
}

/** The part of the state that joins reports with levels. */
export interface ReportState {
  levels: readonly KnownLevel[];
  /** Reports that match no level by their tokens. For the time being they belong to the latest level. */
  unmatched: readonly CrossingReport[];
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
  const { levels, unmatched } = state;
  const exact = levels.findLastIndex((level) => level.contextTokens === report.contextTokens);
  const index = exact === -1 ? levels.length - 1 : exact;
  if (isCrowded(levels[index], report)) {
    store(changes, `reported/${report.reportId}`, report, undefined);
    return { levels, unmatched };
  }
  const joined = join(levels, index, report, changes, unmatched);
  if (exact !== -1) return { levels: joined, unmatched };
  const waiting = [...unmatched, report];
  if (waiting.length <= MOST_UNMATCHED) return { levels: joined, unmatched: waiting };
  return { levels: settled(joined, waiting[0]!), unmatched: waiting.slice(1) };
}

/** Adds a level with the crossings derived from its turn, and moves the unmatched reports that mean this level. */
export function applyLevel(
  state: ReportState,
  level: Level,
  derived: readonly Crossing[],
  changes: CrossingChanges,
): ReportState {
  let { levels } = state;
  const matching = state.unmatched.filter((report) => report.contextTokens === level.contextTokens);
  for (const report of matching) levels = withdraw(levels, report, changes);
  for (const crossing of derived) changes.crossings.set(crossing.id, crossing);
  const crossed = derived.map(({ threshold, up }) => ({ threshold, up, derived: true, reports: [] }));
  levels = [...levels.slice(1 - LEVELS).map(withFirstReports), { ...level, crossed }];
  for (const report of matching) levels = join(levels, levels.length - 1, report, changes);
  return { levels, unmatched: [] };
}

/** The origins of the crossings at the levels of a state, by crossing id. */
export function originsAt(levels: readonly KnownLevel[]): Map<string, CrossingOrigin> {
  return new Map(
    levels.flatMap((level) => level.crossed.map((known) => [idOf(level, known), originOf(known)])),
  );
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

function idOf(level: Level, { threshold, up }: { threshold: string; up: boolean }): string {
  return crossingId(threshold, up, level.turnKey);
}

function crossingId(threshold: string, up: boolean, turnKey: string): string {
  return `${threshold}/${up ? "up" : "down"}/${turnKey}`;
}

function originOf({ derived, reports }: KnownCrossing): CrossingOrigin {
  if (!derived) return "reported";
  return reports.length > 0 ? "both" : "derived";
}

/** Returns the levels with the report joined to the one at `index`; -1 for a report before any level. */
function join(
  levels: readonly KnownLevel[],
  index: number,
  report: CrossingReport,
  changes: CrossingChanges,
  unmatched: readonly CrossingReport[] = [],
): readonly KnownLevel[] {
  const level = levels[index];
  if (level === undefined) {
    store(changes, `reported/${report.reportId}`, report, undefined);
    return levels;
  }
  const known = crossedAt(level, report);
  if (known === undefined) {
    const { threshold, up } = report;
    store(changes, idOf(level, report), report, level);
    return withCrossed(levels, index, [
      ...level.crossed,
      { threshold, up, derived: false, reports: [report] },
    ]);
  }
  const joined = { ...known, reports: withReport(known.reports, report, unmatched) };
  if (originOf(joined) !== originOf(known)) setOrigin(changes, idOf(level, known), originOf(joined));
  return withCrossed(levels, index, [...level.crossed.filter((one) => one !== known), joined]);
}

/** Whether a level has so many crossings that one of a further name belongs to no level. */
function isCrowded(level: KnownLevel | undefined, report: CrossingReport): boolean {
  return (
    level !== undefined &&
    level.crossed.length >= MOST_CROSSED &&
    !isThreshold(report.threshold) &&
    crossedAt(level, report) === undefined
  );
}

/** The reports of a crossing after one more. After one that stays, the later ones change nothing. */
function withReport(
  reports: readonly CrossingReport[],
  report: CrossingReport,
  unmatched: readonly CrossingReport[],
): readonly CrossingReport[] {
  const mayLeave = ({ reportId }: CrossingReport) => unmatched.some((one) => one.reportId === reportId);
  if (!reports.every(mayLeave)) return reports;
  return [...reports, report];
}

/** The levels once a report of the latest one can no longer leave it: the later reports of its crossing change nothing. */
function settled(levels: readonly KnownLevel[], report: CrossingReport): readonly KnownLevel[] {
  const index = levels.length - 1;
  const crossed = levels[index]?.crossed.map((one) =>
    one.reports[0]?.reportId === report.reportId ? { ...one, reports: [report] } : one,
  );
  return crossed === undefined ? levels : withCrossed(levels, index, crossed);
}

/** A level that is no longer the latest. No report leaves it, so the first one of each crossing says all. */
const withFirstReports = (level: KnownLevel): KnownLevel =>
  level.crossed.some(({ reports }) => reports.length > 1)
    ? { ...level, crossed: level.crossed.map((one) => ({ ...one, reports: one.reports.slice(0, 1) })) }
    : level;

/** Takes a report off the latest level, or off the start if there is none. */
function withdraw(
  levels: readonly KnownLevel[],
  report: CrossingReport,
  changes: CrossingChanges,
): readonly KnownLevel[] {
  const index = levels.length - 1;
  const level = levels[index];
  if (level === undefined) {
    remove(changes, `reported/${report.reportId}`, report);
    return levels;
  }
  const known = crossedAt(level, report);
  if (known === undefined) return levels;
  const others = level.crossed.filter((one) => one !== known);
  const left = { ...known, reports: known.reports.filter(({ reportId }) => reportId !== report.reportId) };
  const id = idOf(level, known);
  const [next] = left.reports;
  if (known.derived) {
    if (originOf(left) !== originOf(known)) setOrigin(changes, id, originOf(left));
  } else if (next !== known.reports[0] || next === undefined) {
    remove(changes, id, report);
    if (next === undefined) return withCrossed(levels, index, others);
    store(changes, id, next, level);
  }
  return withCrossed(levels, index, [...others, left]);
}

/** Stores the crossing that a report tells of and that no turn of this server crossed. */
function store(changes: CrossingChanges, id: string, report: CrossingReport, level: Level | undefined): void {
  const { threshold, up, at, thresholdTokens, contextTokens } = report;
  const { turnKey, windowTokens } = level ?? { turnKey: undefined, windowTokens: undefined };
  const origin = "reported";
  changes.crossings.set(id, {
    id,
    threshold,
    up,
    origin,
    at,
    turnKey,
    thresholdTokens,
    contextTokens,
    windowTokens,
  });
}

function remove(changes: CrossingChanges, id: string, { threshold, up }: CrossingReport): void {
  if (!changes.crossings.delete(id)) changes.withdrawn.set(id, { threshold, up });
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
