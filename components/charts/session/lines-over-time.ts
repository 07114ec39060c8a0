import type { AgentView, AppliedThreshold, LineStep } from "@plimsoll/protocol/api";
import { THRESHOLD_NAMES } from "@plimsoll/protocol/pure";
import { thresholdLabel } from "../threshold-label.ts";
import type { Axis, Saw } from "./shape.ts";

/** A threshold that stood at one level from `from` to `to`, on the axis of the chart. Tokens. */
export interface LinePiece {
  from: number;
  to: number;
  tokens: number;
}

/** One threshold over the whole chart, as it stood. */
export interface StoodLine {
  name: AppliedThreshold["name"];
  pieces: LinePiece[];
}

/** Where the thresholds changed. */
export interface LineChange {
  x: number;
  /** ISO 8601. */
  at: string;
  /** What changed, a line each: `ceiling 70% to 40%, acknowledged policy 3`. */
  texts: string[];
  /** Where the mark stands: the highest new level of what changed, in tokens. */
  tokens: number;
}

export interface StoodLines {
  lines: StoodLine[];
  changes: LineChange[];
}

const SOURCES: Readonly<Record<AppliedThreshold["source"], (generation: number) => string>> = {
  acknowledged: (generation) => `acknowledged policy ${generation}`,
  reported: () => "reported by the harness",
  policy: (generation) => `policy ${generation}, not acknowledged`,
  default: () => "default of the harness",
};

/** Where a threshold comes from: `acknowledged policy 3`. */
export const thresholdSource = ({ source }: Pick<AppliedThreshold, "source">, generation: number): string =>
  SOURCES[source](generation);

type Stood = Pick<LineStep, "generation" | "thresholds">;

/** The thresholds of an agent as they stood at each turn, and from its last turn on as they stand now. */
export function linesOverTime(
  steps: readonly LineStep[],
  now: Pick<AgentView, "thresholds" | "policy_generation">,
  { points }: Pick<Saw, "points">,
  axis: Axis,
): StoodLines {
  const last = points.at(-1);
  const stood: { x: number; at: string | undefined; set: Stood }[] = steps.map(
    ({ number, at, ...set }, index) => ({
      // On the axis of turns, between the turn before and the first one judged by them.
      x: index === 0 ? Number.NEGATIVE_INFINITY : axis === "turns" ? number - 0.5 : Date.parse(at),
      at,
      set,
    }),
  );
  const latest = { generation: now.policy_generation, thresholds: now.thresholds };
  const shown = stood.at(-1)?.set;
  if (shown === undefined || textsOf(shown, latest).length > 0)
    stood.push({
      x: shown === undefined || last === undefined ? Number.NEGATIVE_INFINITY : last.x,
      at: undefined,
      set: latest,
    });
  const lines = THRESHOLD_NAMES.flatMap((name) => {
    const pieces = piecesOf(stood, name);
    return pieces.length === 0 ? [] : [{ name, pieces }];
  });
  const changes = stood.flatMap(({ x, at, set }, index) => {
    const before = stood[index - 1]?.set;
    if (before === undefined) return [];
    const moved = movedOf(before, set);
    // What holds since the last turn has no turn of its own to mark yet.
    if (moved.length === 0 || at === undefined) return [];
    const tokens = Math.max(...moved.map(({ after, before: old }) => (after ?? old)!.tokens));
    return [{ x, at, texts: textsOf(before, set), tokens }];
  });
  return { lines, changes };
}

/** The highest level at which a threshold stood, in tokens; 0 if it never did. */
export function highestOf(stood: StoodLines | undefined, name: AppliedThreshold["name"] | undefined): number {
  const pieces = stood?.lines.find((one) => one.name === name)?.pieces ?? [];
  return Math.max(0, ...pieces.map(({ tokens }) => tokens));
}

function piecesOf(stood: readonly { x: number; set: Stood }[], name: AppliedThreshold["name"]): LinePiece[] {
  const pieces: LinePiece[] = [];
  for (const [index, { x: from, set }] of stood.entries()) {
    const tokens = set.thresholds.find((threshold) => threshold.name === name)?.tokens;
    const to = stood[index + 1]?.x ?? Number.POSITIVE_INFINITY;
    const open = pieces.at(-1);
    if (tokens === undefined) continue;
    if (open !== undefined && open.to === from && open.tokens === tokens) open.to = to;
    else pieces.push({ from, to, tokens });
  }
  return pieces;
}

interface Moved {
  name: AppliedThreshold["name"];
  before: AppliedThreshold | undefined;
  after: AppliedThreshold | undefined;
}

function movedOf(before: Stood, after: Stood): Moved[] {
  return THRESHOLD_NAMES.flatMap((name) => {
    const [old, now] = [before, after].map(({ thresholds }) => thresholds.find((one) => one.name === name));
    return old?.tokens === now?.tokens ? [] : [{ name, before: old, after: now }];
  });
}

function textsOf(before: Stood, after: Stood): string[] {
  return movedOf(before, after).map(({ name, before: old, after: now }) => {
    if (now === undefined) return `${name} ${thresholdLabel(old!)} no longer set`;
    const source = thresholdSource(now, after.generation);
    const label = thresholdLabel(now);
    if (old === undefined) return `${name} ${label}, ${source}`;
    return thresholdLabel(old) === label
      ? `${name} ${label} of another window, ${source}`
      : `${name} ${thresholdLabel(old)} to ${label}, ${source}`;
  });
}
