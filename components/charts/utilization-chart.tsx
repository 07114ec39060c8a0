/** @jsxImportSource #jsx */
"use client";

import {
  Area,
  CartesianGrid,
  ComposedChart,
  Line,
  ReferenceArea,
  ReferenceDot,
  ReferenceLine,
  ResponsiveContainer,
  Tooltip,
  XAxis,
  YAxis,
} from "recharts";
import { fullTime, percent } from "../format.ts";
import { BARE_AXIS, timeAxis } from "./axes.ts";
import type { ChartActions } from "./chart-actions.ts";
import { tooltipBox } from "./chart-frame.tsx";
import { LANE_PX, MarksLane, type MarksShown } from "./marks-lane.tsx";
import { OutlierMark } from "./outlier-mark.tsx";
import { labelledOutliers, type Outlier } from "./outliers.ts";
import { isolatedPoints, type SeriesRow } from "./series-rows.ts";
import type { ThresholdPiece } from "./threshold-lines.ts";
import { levelTicks } from "./ticks.ts";
import { useBrush } from "./use-brush.ts";

interface Props extends ChartActions {
  rows: SeriesRow[];
  from: number;
  to: number;
  /** Bucket length in ms. */
  step: number;
  /** The lines by part of the range; one part if they did not change. */
  pieces: ThresholdPiece[];
  /** Levels above the window. */
  outliers: readonly Outlier[];
  /** The highest utilization now, if the range reaches until now. `at` in epoch ms. */
  current: Outlier | null;
  marks: MarksShown;
}

const AXIS_WIDTH = 44;
const MARGIN = { top: LANE_PX, right: 8, bottom: 0, left: 0 };

export default function UtilizationChart(props: Props) {
  const { rows, from, to, step, pieces, outliers, current, crosshair, marks, onHover, onBrush } = props;
  const highest = Math.max(
    0.01,
    current?.value ?? 0,
    ...rows.flatMap(({ peak }) => (typeof peak === "number" ? [peak] : [])),
  );
  const top = Math.max(highest, ...pieces.flatMap(({ lines }) => lines.map(({ share }) => share))) * 1.12;
  const ticks = levelTicks(top * 100, 5).map((tick) => tick / 100);
  const alone = { peak: isolatedPoints(rows, "peak"), p95: isolatedPoints(rows, "p95") };
  const labelled = labelledOutliers(
    outliers.map(({ at }) => at),
    from,
    to,
  );
  const beyond = new Map(outliers.map(({ at, value }) => [at, value]));
  const { selected, handlers } = useBrush({
    step,
    range: { from, to },
    bucketOf: (label) => label,
    onHover,
    onBrush,
  });

  /** Dots for points without neighbours, which a line does not show. */
  function dotOf(name: "peak" | "p95", colour: string) {
    if (alone[name].size === 0) return false;
    return ({ cx, cy, payload }: { cx?: number; cy?: number; payload?: SeriesRow }) =>
      payload !== undefined && alone[name].has(payload.at) ? (
        <circle key={payload.at} cx={cx} cy={cy} r={2.5} fill={colour} />
      ) : (
        <g key={payload?.at} />
      );
  }

  return (
    <>
      <ResponsiveContainer width="100%" height="100%">
        <ComposedChart data={rows} margin={MARGIN} className="cursor-crosshair select-none" {...handlers}>
          <CartesianGrid vertical={false} horizontalValues={ticks} stroke="var(--rule)" />
          <XAxis dataKey="at" domain={[from, to]} {...timeAxis(from, to)} />
          <YAxis
            {...BARE_AXIS}
            domain={[0, top]}
            ticks={ticks}
            tickFormatter={(share: number) => `${Number((share * 100).toFixed(1))}%`}
            width={AXIS_WIDTH}
            interval={0}
          />
          <Tooltip
            isAnimationActive={false}
            cursor={{ stroke: "var(--edge)" }}
            content={({ active, payload }) => {
              const row = payload?.[0]?.payload as SeriesRow | undefined;
              if (!active || row === undefined) return null;
              return (
                <div className={tooltipBox}>
                  <div className="text-faint">{fullTime(row.at)}</div>
                  <div>peak {typeof row.peak === "number" ? percent(row.peak) : "no turn"}</div>
                  <div>p95 {typeof row.p95 === "number" ? percent(row.p95) : "no turn"}</div>
                  <div>median {typeof row.p50 === "number" ? percent(row.p50) : "no turn"}</div>
                  {beyond.has(row.at) && (
                    <div className="text-warn-ink">
                      {percent(beyond.get(row.at)!)} of a wrong window size, left out
                    </div>
                  )}
                </div>
              );
            }}
          />
          <Area
            dataKey="peak"
            type="linear"
            stroke="var(--water)"
            strokeWidth={1.8}
            fill="var(--water)"
            fillOpacity={0.14}
            isAnimationActive={false}
            dot={dotOf("peak", "var(--water)")}
            activeDot={{ r: 3 }}
          />
          <Line
            dataKey="p95"
            type="linear"
            stroke="var(--water-2)"
            strokeWidth={1.6}
            isAnimationActive={false}
            dot={dotOf("p95", "var(--water-2)")}
            activeDot={{ r: 3 }}
          />
          <Line
            dataKey="p50"
            type="linear"
            stroke="var(--muted)"
            strokeWidth={1.2}
            strokeDasharray="2 3"
            isAnimationActive={false}
            dot={false}
            activeDot={{ r: 2.5 }}
          />
          {outliers.map(({ at, value }) => (
            <ReferenceDot
              key={at}
              x={at}
              y={top}
              shape={({ cx, cy }: { cx?: number; cy?: number }) => (
                <OutlierMark
                  {...(cx !== undefined && { cx })}
                  {...(cy !== undefined && { cy })}
                  label={percent(value)}
                  isLabelled={labelled.has(at)}
                />
              )}
            />
          ))}
          {current !== null && (
            <ReferenceDot
              x={Math.min(current.at, to)}
              y={current.value}
              r={4}
              fill="var(--ink)"
              stroke="var(--panel)"
            />
          )}
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
          {pieces.slice(1).map((piece) => (
            <ReferenceLine key={piece.from} x={piece.from} stroke="var(--edge)" strokeDasharray="1 3" />
          ))}
          {pieces.flatMap((piece) =>
            piece.lines.map(({ name, share, colour, dashed }) => (
              <ReferenceLine
                key={`${name}-${piece.from}`}
                {...(pieces.length === 1
                  ? { y: share }
                  : {
                      segment: [
                        { x: piece.from, y: share },
                        { x: piece.to, y: share },
                      ] as const,
                    })}
                stroke={colour}
                strokeWidth={1.5}
                strokeDasharray={dashed ? "5 4" : undefined}
                ifOverflow="hidden"
              />
            )),
          )}
        </ComposedChart>
      </ResponsiveContainer>
      <MarksLane marks={marks} inset={{ left: AXIS_WIDTH, right: MARGIN.right }} />
    </>
  );
}
