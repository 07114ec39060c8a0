/** @jsxImportSource #jsx */
"use client";

import { isBoundary } from "@plimsoll/fold";
import { useRef } from "react";
import {
  Bar,
  BarChart,
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
import type { ChartActions } from "./chart-actions.ts";
import { tooltipBox } from "./chart-frame.tsx";
import { OutlierMark } from "./outlier-mark.tsx";
import { axisTop, labelledOutliers } from "./outliers.ts";
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
}

const MARGIN = { top: 12, right: 4, bottom: 0, left: 0 };

export default function BoundariesChart(props: Props) {
  const { rows, groups, fillOf, from, to, step, crosshair, onHover, onBrush } = props;
  const sums = rows.map((row) => groups.reduce((sum, group) => sum + (row[group] ?? 0), 0));
  const highest = Math.max(2, axisTop(sums));
  const ticks = wholeTicks(0, highest, 4);
  const domain = barDomain(rows, groups, { from, to, step });
  const outliers = rows.flatMap(({ at }, index) =>
    sums[index]! > highest ? [{ at: at + step / 2, value: sums[index]! }] : [],
  );
  const labelled = labelledOutliers(
    outliers.map(({ at }) => at),
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
  // Center each bar in its bucket.
  const centred = rows.map((row) => ({ ...row, middle: row.at + step / 2 }));
  return (
    <ResponsiveContainer width="100%" height="100%">
      <BarChart
        data={centred}
        margin={MARGIN}
        barCategoryGap="18%"
        className="cursor-pointer select-none"
        {...handlers}
      >
        <CartesianGrid vertical={false} horizontalValues={ticks} stroke="var(--rule)" />
        <XAxis dataKey="middle" domain={domain} allowDataOverflow {...timeAxis(from, to, 4)} />
        <YAxis
          {...BARE_AXIS}
          domain={[0, highest * 1.05]}
          allowDataOverflow
          ticks={ticks}
          width={34}
          interval={0}
        />
        <Tooltip
          isAnimationActive={false}
          cursor={{ fill: "var(--track)", opacity: 0.6 }}
          content={({ active, payload }) => {
            const row = payload?.[0]?.payload as SeriesRow | undefined;
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
          <Bar
            key={group}
            dataKey={group}
            stackId="boundaries"
            fill={fillOf(group)}
            stroke="var(--panel)"
            strokeWidth={1}
            maxBarSize={14}
            isAnimationActive={false}
            onMouseDown={({ payload }: { payload?: SeriesRow }) => {
              if (payload !== undefined)
                pressed.current = { at: payload.at, reason: isBoundary(group) ? group : undefined };
            }}
          />
        ))}
        {outliers.map(({ at, value }) => (
          <ReferenceDot
            key={at}
            x={at}
            y={highest * 1.05}
            shape={({ cx, cy }: { cx?: number; cy?: number }) => (
              <OutlierMark
                {...(cx !== undefined && { cx })}
                {...(cy !== undefined && { cy })}
                label={exact(value)}
                isLabelled={labelled.has(at)}
              />
            )}
          />
        ))}
        {crosshair !== null && <ReferenceLine x={crosshair} stroke="var(--edge)" />}
        {selected !== null && (
          <ReferenceArea x1={selected.from} x2={selected.to} fill="var(--accent)" fillOpacity={0.18} />
        )}
      </BarChart>
    </ResponsiveContainer>
  );
}
