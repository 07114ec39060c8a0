/** @jsxImportSource #jsx */
"use client";

import type { BoundaryType } from "@plimsoll/protocol/events";
import { memo, useMemo } from "react";
import { compact, exact, fullTime } from "../format.ts";
import { AXIS_PX, LANE_PX } from "./axes.ts";
import type { TimeRange } from "./brush.ts";
import { BucketPlot } from "./bucket-plot.tsx";
import { CappedMark } from "./capped-mark.tsx";
import type { ChartActions } from "./chart-actions.ts";
import { MarksLane, type MarksShown } from "./marks-lane.tsx";
import { axisTop, cappedBar, labelledOutliers } from "./outliers.ts";
import { PlotGrid, PlotOverlay, placeOf } from "./plot-overlay.tsx";
import { barDomain, type SeriesRow } from "./series-rows.ts";
import { wholeTicks } from "./ticks.ts";

/** What the parts of the bars are. */
export interface Words {
  nameOf: (group: string) => string;
  /** The type that a part stands for, if a press on it chooses one. */
  typeOf?: (group: string) => BoundaryType | undefined;
  /** Says that a bucket has none. */
  none: string;
}

interface Props extends ChartActions, Words {
  rows: SeriesRow[];
  groups: string[];
  /** The fill of the bars of a group. */
  fillOf: (group: string) => string;
  from: number;
  to: number;
  /** Bucket length in ms. */
  step: number;
  marks: MarksShown;
}

const INSET = { left: 34, right: 4 };
/** A bar takes so much of its bucket, and no more than that. */
const BAR_SHARE = 0.82;
const WIDEST_PX = 14;
/** The axis ends so much above the tallest bar. */
const HEADROOM = 1.05;
const PLOT_PX = 200 - LANE_PX - AXIS_PX;
/** Height of the tallest bar, px. */
const TALLEST_PX = PLOT_PX / HEADROOM;

const levelsUpTo = (highest: number) =>
  wholeTicks(0, highest, 4).map((count) => ({ place: count / (highest * HEADROOM), text: compact(count) }));

interface Bar {
  [group: string]: unknown;
  at: number;
  middle: number;
  /** True if it is higher than the axis. */
  isCapped: boolean;
  /** The counts. */
  row: SeriesRow;
}

export default function StackedChart(props: Props) {
  const { rows, groups, fillOf, from, to, step, crosshair, marks, onHover, onBrush, ...words } = props;
  const { bars, highest, domain } = useMemo(
    () => barsOf(rows, groups, { from, to, step }),
    [rows, groups, from, to, step],
  );
  const capped = bars.filter(({ isCapped }) => isCapped);
  const labelled = labelledOutliers(
    capped.map(({ middle }) => middle),
    ...domain,
  );
  const [first, last] = domain;
  const axis = useMemo(() => ({ from: first, to: last }), [first, last]);
  const buckets = useMemo(() => bars.map(({ at }) => at), [bars]);
  const { nameOf, typeOf, none } = words;
  function wordsOf(index: number): string[] {
    const { at, row } = bars[index]!;
    const some = groups.filter((group) => (row[group] ?? 0) > 0);
    return [
      `from ${fullTime(at)}`,
      ...(some.length === 0 ? [none] : some.map((group) => `${exact(row[group] ?? 0)} ${nameOf(group)}`)),
    ];
  }
  return (
    <>
      <PlotGrid inset={INSET} levels={levelsUpTo(highest)} />
      <BucketPlot
        label="Counts by time"
        inset={INSET}
        axis={axis}
        step={step}
        buckets={buckets}
        isWide
        wordsOf={wordsOf}
        typeOf={typeOf}
        onHover={onHover}
        onBrush={onBrush}
      >
        <Bars bars={bars} groups={groups} fillOf={fillOf} step={step} axis={axis} top={highest * HEADROOM} />
      </BucketPlot>
      <PlotOverlay inset={INSET} {...axis} marks={marks} crosshair={crosshair}>
        {capped.map(({ middle, row }) => (
          <svg key={middle} aria-hidden x={placeOf(middle, axis)} overflow="visible">
            <CappedMark
              top={(1 - 1 / HEADROOM) * PLOT_PX}
              counts={groups.map((group) => ({ name: nameOf(group), count: row[group] ?? 0 }))}
              height={TALLEST_PX}
              isLabelled={labelled.has(middle)}
            />
          </svg>
        ))}
      </PlotOverlay>
      <MarksLane marks={marks} inset={INSET} />
    </>
  );
}

/** Each bar in the middle of its bucket, and as high as the axis allows. */
function barsOf(rows: readonly SeriesRow[], groups: readonly string[], range: TimeRange & { step: number }) {
  const sums = rows.map((row) => groups.reduce((sum, group) => sum + (row[group] ?? 0), 0));
  const highest = Math.max(2, axisTop(sums));
  const bars = rows.map((row): Bar => {
    const { values, isCapped } = cappedBar(
      groups.map((group) => row[group] ?? 0),
      highest,
    );
    const drawn = Object.fromEntries(groups.map((group, index) => [group, values[index]!]));
    return { ...drawn, at: row.at, middle: row.at + range.step / 2, isCapped, row };
  });
  return { bars, highest, domain: barDomain(rows, groups, range) };
}

interface BarsProps extends Pick<Props, "groups" | "fillOf" | "step"> {
  bars: readonly Bar[];
  axis: TimeRange;
  /** The value at the top of the plot. */
  top: number;
}

const Bars = memo(function Bars({ bars, groups, fillOf, step, axis, top }: BarsProps) {
  const width = `min(${WIDEST_PX}px, ${((step * BAR_SHARE) / (axis.to - axis.from)) * 100}%)`;
  return bars.map((bar) => {
    const x = `calc(${placeOf(bar.middle, axis)} - ${width} / 2)`;
    let below = 0;
    return groups.map((group) => {
      const value = bar[group] as number;
      if (value === 0) return null;
      below += value;
      return (
        <rect
          key={`${bar.at} ${group}`}
          data-testid="bar"
          data-group={group}
          y={`${(1 - below / top) * 100}%`}
          height={`${(value / top) * 100}%`}
          style={{ x, width }}
          fill={fillOf(group)}
          stroke="var(--panel)"
          className="cursor-pointer"
        />
      );
    });
  });
});
