/** @jsxImportSource #jsx */
import { Fragment, type ReactNode } from "react";
import { axisTime } from "../format.ts";
import { AXIS_PX, type Inset, LANE_PX } from "./axes.ts";
import type { TimeRange } from "./brush.ts";
import type { MarksShown } from "./marks-lane.tsx";
import { timeTicks } from "./ticks.ts";

/** A value of the axis, with its place from the bottom as a fraction of the plot. */
interface Level {
  place: number;
  text: string;
}

interface GridProps {
  inset: Inset;
  levels: readonly Level[];
}

/** Lines under a plot, with labels beside it. */
export const PlotGrid = ({ inset, levels }: GridProps) => (
  <Layer inset={inset}>
    {levels.map(({ place, text }) => {
      const y = `${(1 - place) * 100}%`;
      return (
        <Fragment key={text}>
          <line x1="0" x2="100%" y1={y} y2={y} stroke="var(--rule)" />
          <text x="-8" y={y} dy="4" textAnchor="end" className="chart-text" data-testid="level-label">
            {text}
          </text>
        </Fragment>
      );
    })}
  </Layer>
);

/** As large as the plot. */
const Layer = ({ inset, children }: { inset: Inset; children: ReactNode }) => (
  <div
    aria-hidden
    className="pointer-events-none absolute"
    style={{ ...inset, top: LANE_PX, bottom: AXIS_PX }}
  >
    <svg aria-hidden width="100%" height="100%" className="block overflow-visible">
      {children}
    </svg>
  </div>
);

interface Props {
  inset: Inset;
  /** The axis of times, epoch ms. */
  from: number;
  to: number;
  marks: MarksShown;
  /** The bucket under the pointer of another chart, epoch ms. */
  crosshair: number | null;
  /** SVG, with lengths in percent of the plot. */
  children?: ReactNode;
}

/** Times below a plot that have room on a phone, whatever their format. */
const MOST_TIMES = 5;

/** The place of a time on an axis, in percent. */
export const placeOf = (at: number, { from, to }: TimeRange): string =>
  `${((at - from) / (to - from)) * 100}%`;

/** What is drawn over the plot of a chart. */
export function PlotOverlay({ inset, from, to, marks, crosshair, children }: Props) {
  const x = (at: number) => placeOf(at, { from, to });
  return (
    <Layer inset={inset}>
      {timeTicks(from, to, MOST_TIMES).map((at) => (
        <text key={at} x={x(at)} y="100%" dy="16" textAnchor="middle" className="chart-text">
          {axisTime(at, to - from)}
        </text>
      ))}
      {marks.groups.map(({ at }) => (
        <Upright
          key={at}
          className="chart-mark"
          x={x(Date.parse(at))}
          stroke={at === marks.chosen ? "var(--accent)" : "var(--edge)"}
          strokeWidth={at === marks.chosen ? 1.5 : 1}
          strokeDasharray="3 3"
        />
      ))}
      {crosshair !== null && <Upright className="chart-crosshair" x={x(crosshair)} stroke="var(--edge)" />}
      {children}
    </Layer>
  );
}

interface UprightProps {
  x: string;
  stroke: string;
  className?: string;
  strokeWidth?: number;
  strokeDasharray?: string;
}

/** A line from the top of the plot to its bottom. */
export const Upright = ({ x, ...look }: UprightProps) => <line x1={x} x2={x} y1="0" y2="100%" {...look} />;
