import type { AlertSeverity } from "@plimsoll/protocol/alerts";
import type { Axis, Saw } from "./shape.ts";

/** The time over which an alert was open, or would have been. */
export interface AlertSpan {
  id: string;
  severity: AlertSeverity;
  /** Epoch ms. */
  from: number;
  /** Epoch ms; null while it is open. */
  to: number | null;
  /** Read out by screen readers. */
  name: string;
  /** Shaded more than the others, and never left out. */
  isChosen?: boolean;
}

export interface PlacedSpan {
  span: AlertSpan;
  /** On the axis of the chart. */
  from: number;
  to: number;
  /** Its row above the chart, from 0. */
  lane: number;
}

export interface PlacedSpans {
  spans: PlacedSpan[];
  lanes: number;
  /** Spans for which there is no room. */
  hidden: number;
}

const MOST_LANES = 4;
/** Of the width of the chart: two spans of one lane are at least this far apart. */
const GAP = 0.012;
/** The worst first. */
export const SEVERITY_ORDER: readonly AlertSeverity[] = ["critical", "warning", "info"];
const rankOf = ({ severity }: AlertSpan) => SEVERITY_ORDER.indexOf(severity);

/** Places spans in lanes so that no two overlap: the chosen one and the most severe first, in order of time. */
export function placeAlertSpans(
  spans: readonly AlertSpan[],
  { points }: Pick<Saw, "points">,
  axis: Axis,
  [left, right]: readonly [number, number],
): PlacedSpans {
  const within = (x: number) => Math.min(right, Math.max(left, x));
  const xOf = (time: number): number => {
    if (axis === "time") return within(time);
    // A span begins at the turn that began it, and ends at the turn that ended it.
    const turn = points.findLast(({ point }) => Date.parse(point.at) <= time);
    return within(turn?.x ?? left);
  };
  const lanes: { from: number; to: number }[][] = [];
  const placed: PlacedSpan[] = [];
  const gap = (right - left) * GAP;
  const inOrder = [...spans].sort(
    (one, other) =>
      Number(other.isChosen ?? false) - Number(one.isChosen ?? false) ||
      rankOf(one) - rankOf(other) ||
      one.from - other.from,
  );
  for (const span of inOrder) {
    const from = xOf(span.from);
    const to = span.to === null ? right : Math.max(from, xOf(span.to));
    const free = lanes.findIndex((taken) =>
      taken.every((other) => other.to + gap <= from || to + gap <= other.from),
    );
    const lane = free === -1 ? lanes.length : free;
    if (lane >= MOST_LANES) continue;
    lanes[lane] ??= [];
    lanes[lane].push({ from, to });
    placed.push({ span, from, to, lane });
  }
  placed.sort((one, other) => one.from - other.from || one.lane - other.lane);
  return { spans: placed, lanes: lanes.length, hidden: spans.length - placed.length };
}
