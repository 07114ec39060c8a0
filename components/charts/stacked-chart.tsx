/** @jsxImportSource #jsx */
"use client";

import type { BoundaryType } from "@plimsoll/protocol/events";
import { memo, type RefObject, useMemo, useRef } from "react";
import { BarChart, Bar as BarSeries, ResponsiveContainer, Tooltip, XAxis, YAxis } from "recharts";
import { compact, exact, fullTime } from "../format.ts";
import { AXIS_PX, HIDDEN_AXIS, LANE_PX } from "./axes.ts";
import type { TimeRange } from "./brush.ts";
import { CappedMark } from "./capped-mark.tsx";
import type { ChartActions } from "./chart-actions.ts";
import { tooltipBox } from "./chart-frame.tsx";
import { MarksLane, type MarksShown } from "./marks-lane.tsx";
import { axisTop, cappedBar, labelledOutliers } from "./outliers.ts";
import { PlotGrid, PlotOverlay, placeOf } from "./plot-overlay.tsx";
import { barDomain, type SeriesRow } from "./series-rows.ts";
import { wholeTicks } from "./ticks.ts";
import { type Brush, type Mark, useBrush } from "./use-brush.ts";

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
const MARGIN = { ...INSET, top: LANE_PX, bottom: AXIS_PX };
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
  // The part of a bar under the press; its handler runs before that of the chart.
  const pressed = useRef<Mark>(undefined);
  const [first, last] = domain;
  const axis = { from: first, to: last };
  const { selected, handlers } = useBrush({
    step,
    range: axis,
    bucketOf: (label) => label - step / 2,
    takeMark() {
      const mark = pressed.current;
      pressed.current = undefined;
      return mark;
    },
    onHover,
    onBrush,
  });
  return (
    <>
      <PlotGrid inset={INSET} levels={levelsUpTo(highest)} />
      <Plot
        bars={bars}
        groups={groups}
        fillOf={fillOf}
        domain={domain}
        highest={highest}
        pressed={pressed}
        handlers={handlers}
        {...words}
      />
      <PlotOverlay inset={INSET} {...axis} marks={marks} crosshair={crosshair} selected={selected}>
        {capped.map(({ middle, row }) => (
          <svg key={middle} aria-hidden x={placeOf(middle, axis)} overflow="visible">
            <CappedMark
              top={(1 - 1 / HEADROOM) * PLOT_PX}
              counts={groups.map((group) => ({ name: words.nameOf(group), count: row[group] ?? 0 }))}
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

interface PlotProps extends Pick<Props, "groups" | "fillOf">, Words {
  bars: Bar[];
  domain: [from: number, to: number];
  highest: number;
  /** Receives the part of a bar that is pressed. */
  pressed: RefObject<Mark | undefined>;
  handlers: Brush["handlers"];
}

/** What Recharts draws. */
const Plot = memo(function Plot(props: PlotProps) {
  const { bars, groups, fillOf, domain, highest, pressed, handlers, nameOf, typeOf, none } = props;
  return (
    <ResponsiveContainer width="100%" height="100%">
      <BarChart
        data={bars}
        margin={MARGIN}
        barCategoryGap="18%"
        className="cursor-pointer select-none"
        {...handlers}
      >
        <XAxis dataKey="middle" domain={domain} allowDataOverflow {...HIDDEN_AXIS} />
        <YAxis domain={[0, highest * HEADROOM]} allowDataOverflow {...HIDDEN_AXIS} />
        <Tooltip
          isAnimationActive={false}
          cursor={{ fill: "var(--track)", opacity: 0.6 }}
          content={({ active, payload }) => {
            const row = (payload?.[0]?.payload as Bar | undefined)?.row;
            if (!active || row === undefined) return null;
            const some = groups.filter((group) => (row[group] ?? 0) > 0);
            return (
              <div className={tooltipBox}>
                <div className="text-faint">from {fullTime(row.at ?? 0)}</div>
                {some.length === 0 && <div>{none}</div>}
                {some.map((group) => (
                  <div key={group}>
                    {exact(row[group] ?? 0)} {nameOf(group)}
                  </div>
                ))}
              </div>
            );
          }}
        />
        {groups.map((group) => (
          <BarSeries
            key={group}
            dataKey={group}
            stackId="parts"
            fill={fillOf(group)}
            stroke="var(--panel)"
            strokeWidth={1}
            maxBarSize={14}
            isAnimationActive={false}
            onMouseDown={({ payload }: { payload?: Bar }) => {
              if (payload !== undefined) pressed.current = { at: payload.at, reason: typeOf?.(group) };
            }}
          />
        ))}
      </BarChart>
    </ResponsiveContainer>
  );
});
