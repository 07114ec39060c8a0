/** @jsxImportSource #jsx */
"use client";

import { memo, useMemo } from "react";
import { fullTime, percent } from "../format.ts";
import { BucketPlot } from "./bucket-plot.tsx";
import type { ChartActions } from "./chart-actions.ts";
import { areaPath, CURVE_BOX, type CurveScale, curvePath } from "./curves.ts";
import { MarksLane, type MarksShown } from "./marks-lane.tsx";
import { OutlierMark } from "./outlier-mark.tsx";
import { labelledOutliers, type Outlier } from "./outliers.ts";
import { PlotGrid, PlotOverlay, placeOf, Upright } from "./plot-overlay.tsx";
import { isolatedPoints, type SeriesRow } from "./series-rows.ts";
import type { ThresholdPiece } from "./threshold-lines.ts";
import { levelTicks } from "./ticks.ts";

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

/** From the back to the front. */
const CURVES = [
  { name: "peak", stroke: "var(--water)", strokeWidth: 1.8 },
  { name: "p95", stroke: "var(--water-2)", strokeWidth: 1.6 },
  { name: "p50", stroke: "var(--muted)", strokeWidth: 1.2, strokeDasharray: "2 3" },
];

const DOTS = [
  ["peak", "var(--water)"],
  ["p95", "var(--water-2)"],
] as const;

const levelsUpTo = (top: number) =>
  levelTicks(top * 100, 5).map((tick) => ({ place: tick / 100 / top, text: `${Number(tick.toFixed(1))}%` }));

/** So that the axis does not move with each turn. */
const roundedUp = (share: number) => Math.ceil(share * 20) / 20;

function wordsOf(row: SeriesRow, beyond: ReadonlyMap<number, number>): string[] {
  const level = (name: string) => (typeof row[name] === "number" ? percent(row[name]) : "no turn");
  const outlier = beyond.get(row.at);
  return [
    fullTime(row.at),
    `peak ${level("peak")}`,
    `p95 ${level("p95")}`,
    `median ${level("p50")}`,
    ...(outlier === undefined ? [] : [`${percent(outlier)} of a wrong window size, left out`]),
  ];
}

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
  const axis = useMemo(() => ({ from, to }), [from, to]);
  const buckets = useMemo(() => rows.map(({ at }) => at), [rows]);
  const beyond = useMemo(() => new Map(outliers.map(({ at, value }) => [at, value])), [outliers]);
  const x = (at: number) => placeOf(at, { from, to });
  const y = (share: number) => `${(1 - share / top) * 100}%`;
  return (
    <>
      <PlotGrid inset={INSET} levels={levelsUpTo(top)} />
      <BucketPlot
        label="Utilization by time"
        inset={INSET}
        axis={axis}
        step={step}
        buckets={buckets}
        isWide={false}
        wordsOf={(index) => wordsOf(rows[index]!, beyond)}
        onHover={onHover}
        onBrush={onBrush}
      >
        <Curves rows={rows} from={from} to={to} top={top} />
      </BucketPlot>
      <PlotOverlay inset={INSET} from={from} to={to} marks={marks} crosshair={crosshair}>
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

interface CurvesProps extends CurveScale {
  rows: readonly SeriesRow[];
}

/** Stretched over the plot, so that nothing is measured. */
const Curves = memo(function Curves({ rows, from, to, top }: CurvesProps) {
  const scale = { from, to, top };
  const curve = (name: string) => curvePath(rows, name, scale);
  return (
    <svg
      aria-hidden
      width="100%"
      height="100%"
      viewBox={`0 0 ${CURVE_BOX.width} ${CURVE_BOX.height}`}
      preserveAspectRatio="none"
    >
      <path d={areaPath(rows, "peak", scale)} fill="var(--water)" fillOpacity={0.14} />
      {CURVES.map(({ name, ...look }) => (
        <path
          key={name}
          d={curve(name)}
          fill="none"
          vectorEffect="non-scaling-stroke"
          data-curve={name}
          {...look}
        />
      ))}
    </svg>
  );
});
