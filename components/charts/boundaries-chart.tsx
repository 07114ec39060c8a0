/** @jsxImportSource #jsx */
"use client";

import { isBoundary } from "@plimsoll/fold";
import { useRef } from "react";
import {
  BarChart,
  Bar as BarSeries,
  CartesianGrid,
  ReferenceArea,
  ReferenceDot,
  ReferenceLine,
  ResponsiveContainer,
  Tooltip,
  XAxis,
  YAxis,
} from "recharts";
import { exact, fullTime } from "../format.ts";
import { boundaryName } from "../words.ts";
import { BARE_AXIS, timeAxis } from "./axes.ts";
import { CappedMark } from "./capped-mark.tsx";
import type { ChartActions } from "./chart-actions.ts";
import { tooltipBox } from "./chart-frame.tsx";
import { LANE_PX, MarksLane, type MarksShown } from "./marks-lane.tsx";
import { axisTop, cappedBar, labelledOutliers } from "./outliers.ts";
import { barDomain, type SeriesRow } from "./series-rows.ts";
import { wholeTicks } from "./ticks.ts";
import { type Mark, useBrush } from "./use-brush.ts";

interface Props extends ChartActions {
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

const AXIS_WIDTH = 34;
const MARGIN = { top: LANE_PX, right: 4, bottom: 0, left: 0 };
/** The axis ends so much above the tallest bar. */
const HEADROOM = 1.05;
const AXIS_PX = 22;
/** Height of the tallest bar, px. */
const TALLEST_PX = (200 - LANE_PX - AXIS_PX) / HEADROOM;

interface Bar {
  [group: string]: unknown;
  at: number;
  middle: number;
  /** True if it is higher than the axis. */
  isCapped: boolean;
  /** The counts. */
  row: SeriesRow;
}

export default function BoundariesChart(props: Props) {
  const { rows, groups, fillOf, from, to, step, crosshair, marks, onHover, onBrush } = props;
  const sums = rows.map((row) => groups.reduce((sum, group) => sum + (row[group] ?? 0), 0));
  const highest = Math.max(2, axisTop(sums));
  const ticks = wholeTicks(0, highest, 4);
  const domain = barDomain(rows, groups, { from, to, step });
  // Each bar in the middle of its bucket, and as high as the axis allows.
  const bars = rows.map((row): Bar => {
    const { values, isCapped } = cappedBar(
      groups.map((group) => row[group] ?? 0),
      highest,
    );
    const drawn = Object.fromEntries(groups.map((group, index) => [group, values[index]!]));
    return { ...drawn, at: row.at, middle: row.at + step / 2, isCapped, row };
  });
  const capped = bars.filter(({ isCapped }) => isCapped);
  const labelled = labelledOutliers(
    capped.map(({ middle }) => middle),
    ...domain,
  );
  // The part of a bar under the press; its handler runs before that of the chart.
  const pressed = useRef<Mark>(undefined);
  const { selected, handlers } = useBrush({
    step,
    range: { from: domain[0], to: domain[1] },
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
      <ResponsiveContainer width="100%" height="100%">
        <BarChart
          data={bars}
          margin={MARGIN}
          barCategoryGap="18%"
          className="cursor-pointer select-none"
          {...handlers}
        >
          <CartesianGrid vertical={false} horizontalValues={ticks} stroke="var(--rule)" />
          <XAxis dataKey="middle" domain={domain} allowDataOverflow {...timeAxis(from, to, 4)} />
          <YAxis
            {...BARE_AXIS}
            domain={[0, highest * HEADROOM]}
            allowDataOverflow
            ticks={ticks}
            width={AXIS_WIDTH}
            interval={0}
          />
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
                  {some.length === 0 && <div>no boundaries</div>}
                  {some.map((group) => (
                    <div key={group}>
                      {exact(row[group] ?? 0)} {boundaryName(group)}
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
              stackId="boundaries"
              fill={fillOf(group)}
              stroke="var(--panel)"
              strokeWidth={1}
              maxBarSize={14}
              isAnimationActive={false}
              onMouseDown={({ payload }: { payload?: Bar }) => {
                if (payload !== undefined)
                  pressed.current = { at: payload.at, reason: isBoundary(group) ? group : undefined };
              }}
            />
          ))}
          {capped.map(({ middle, row }) => (
            <ReferenceDot
              key={middle}
              x={middle}
              y={highest}
              shape={({ cx, cy }: { cx?: number; cy?: number }) => (
                <CappedMark
                  cx={cx ?? 0}
                  cy={cy ?? 0}
                  counts={groups.map((group) => ({ name: boundaryName(group), count: row[group] ?? 0 }))}
                  height={TALLEST_PX}
                  isLabelled={labelled.has(middle)}
                />
              )}
            />
          ))}
          {marks.groups.map(({ at }) => (
            <ReferenceLine
              key={at}
              className="chart-mark"
              x={Date.parse(at)}
              stroke={at === marks.chosen ? "var(--accent)" : "var(--edge)"}
              strokeWidth={at === marks.chosen ? 1.5 : 1}
              strokeDasharray="3 3"
            />
          ))}
          {crosshair !== null && <ReferenceLine x={crosshair} stroke="var(--edge)" />}
          {selected !== null && (
            <ReferenceArea x1={selected.from} x2={selected.to} fill="var(--accent)" fillOpacity={0.18} />
          )}
        </BarChart>
      </ResponsiveContainer>
      <MarksLane marks={marks} inset={{ left: AXIS_WIDTH, right: MARGIN.right }} />
    </>
  );
}
