/** @jsxImportSource #jsx */
"use client";

import { memo, useMemo } from "react";
import { Area, ComposedChart, Line, ResponsiveContainer, Tooltip, XAxis, YAxis } from "recharts";
import { fullTime, percent } from "../format.ts";
import { AXIS_PX, HIDDEN_AXIS, LANE_PX } from "./axes.ts";
import type { ChartActions } from "./chart-actions.ts";
import { tooltipBox } from "./chart-frame.tsx";
import { MarksLane, type MarksShown } from "./marks-lane.tsx";
import { OutlierMark } from "./outlier-mark.tsx";
import { labelledOutliers, type Outlier } from "./outliers.ts";
import { PlotGrid, PlotOverlay, placeOf, Upright } from "./plot-overlay.tsx";
import { isolatedPoints, type SeriesRow } from "./series-rows.ts";
import type { ThresholdPiece } from "./threshold-lines.ts";
import { levelTicks } from "./ticks.ts";
import { type Brush, useBrush } from "./use-brush.ts";

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

const INSET = { left: 44, right: 8 };
const MARGIN = { ...INSET, top: LANE_PX, bottom: AXIS_PX };

const DOTS = [
  ["peak", "var(--water)"],
  ["p95", "var(--water-2)"],
] as const;

const levelsUpTo = (top: number) =>
  levelTicks(top * 100, 5).map((tick) => ({ place: tick / 100 / top, text: `${Number(tick.toFixed(1))}%` }));

/** So that the axis does not move with each turn. */
const roundedUp = (share: number) => Math.ceil(share * 20) / 20;

export default function UtilizationChart(props: Props) {
  const { rows, from, to, step, pieces, outliers, current, crosshair, marks, onHover, onBrush } = props;
  const top =
    Math.max(
      0.01,
      roundedUp(current?.value ?? 0),
      ...rows.flatMap(({ peak }) => (typeof peak === "number" ? [peak] : [])),
      ...pieces.flatMap(({ lines }) => lines.map(({ share }) => share)),
    ) * 1.12;
  const labelled = labelledOutliers(
    outliers.map(({ at }) => at),
    from,
    to,
  );
  const { selected, handlers } = useBrush({
    step,
    range: { from, to },
    bucketOf: (label) => label,
    onHover,
    onBrush,
  });
  const x = (at: number) => placeOf(at, { from, to });
  const y = (share: number) => `${(1 - share / top) * 100}%`;
  return (
    <>
      <PlotGrid inset={INSET} levels={levelsUpTo(top)} />
      <Plot rows={rows} from={from} to={to} top={top} outliers={outliers} handlers={handlers} />
      <PlotOverlay inset={INSET} from={from} to={to} marks={marks} crosshair={crosshair} selected={selected}>
        {pieces.slice(1).map((piece) => (
          <Upright key={piece.from} x={x(piece.from)} stroke="var(--edge)" strokeDasharray="1 3" />
        ))}
        {pieces.flatMap((piece) =>
          piece.lines.map(({ name, share, colour, dashed }) => (
            <line
              key={`${name}-${piece.from}`}
              data-testid="threshold"
              x1={x(piece.from)}
              x2={x(piece.to)}
              y1={y(share)}
              y2={y(share)}
              stroke={colour}
              strokeWidth={1.5}
              strokeDasharray={dashed ? "5 4" : undefined}
            />
          )),
        )}
        {/* A line does not show a point without neighbours. */}
        {DOTS.flatMap(([name, colour]) => {
          const alone = isolatedPoints(rows, name);
          return rows
            .filter(({ at }) => alone.has(at))
            .map((row) => (
              <circle key={`${name}-${row.at}`} cx={x(row.at)} cy={y(row[name] ?? 0)} r={2.5} fill={colour} />
            ));
        })}
        {outliers.map(({ at, value }) => (
          <svg key={at} aria-hidden x={x(at)} overflow="visible">
            <OutlierMark label={percent(value)} isLabelled={labelled.has(at)} />
          </svg>
        ))}
        {current !== null && (
          <circle
            cx={x(Math.min(current.at, to))}
            cy={y(current.value)}
            r={4}
            fill="var(--ink)"
            stroke="var(--panel)"
          />
        )}
      </PlotOverlay>
      <MarksLane marks={marks} inset={INSET} />
    </>
  );
}

interface PlotProps extends Pick<Props, "rows" | "from" | "to" | "outliers"> {
  /** The end of the axis, as a share of the window. */
  top: number;
  handlers: Brush["handlers"];
}

/** What Recharts draws. */
const Plot = memo(function Plot({ rows, from, to, top, outliers, handlers }: PlotProps) {
  const beyond = useMemo(() => new Map(outliers.map(({ at, value }) => [at, value])), [outliers]);
  return (
    <ResponsiveContainer width="100%" height="100%">
      <ComposedChart data={rows} margin={MARGIN} className="cursor-crosshair select-none" {...handlers}>
        <XAxis dataKey="at" domain={[from, to]} {...HIDDEN_AXIS} />
        <YAxis domain={[0, top]} {...HIDDEN_AXIS} />
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
          dot={false}
          activeDot={{ r: 3 }}
        />
        <Line
          dataKey="p95"
          type="linear"
          stroke="var(--water-2)"
          strokeWidth={1.6}
          isAnimationActive={false}
          dot={false}
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
      </ComposedChart>
    </ResponsiveContainer>
  );
});
