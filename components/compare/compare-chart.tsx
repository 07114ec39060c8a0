/** @jsxImportSource #jsx */
"use client";

import { CartesianGrid, ComposedChart, Line, ResponsiveContainer, Scatter, XAxis, YAxis } from "recharts";
import { BARE_AXIS } from "../charts/axes.ts";
import { BoundaryGlyphPath } from "../charts/boundary-glyph.tsx";
import { levelTicks, wholeTicks } from "../charts/ticks.ts";
import { compact, duration, exact } from "../format.ts";
import { boundaryLabel } from "../words.ts";
import { COMPARE_LOOKS } from "./compare-looks.ts";
import type { CompareAxis, CompareFall, CompareLine, CompareUnit } from "./compare-series.ts";

interface Props {
  lines: readonly CompareLine[];
  axis: CompareAxis;
  unit: CompareUnit;
}

const MARGIN = { top: 14, right: 16, bottom: 0, left: 0 };

/** The levels of two sessions on one axis. Each has its own colour and dash; falls have the shape of their reason. */
export default function CompareChart({ lines, axis, unit }: Props) {
  const points = lines.flatMap((line) => line.points);
  const right = Math.max(1, ...points.map(({ x }) => x));
  const top = Math.max(unit === "tokens" ? 1 : 0.01, ...points.map(({ y }) => y)) * 1.08;
  const scale = unit === "tokens" ? 1 : 100;
  const ticks = levelTicks(top * scale, 5).map((tick) => tick / scale);
  const left = axis === "turns" ? 1 : 0;
  return (
    <ResponsiveContainer width="100%" height="100%">
      <ComposedChart margin={MARGIN}>
        <CartesianGrid vertical={false} horizontalValues={ticks} stroke="var(--rule)" />
        <XAxis
          {...BARE_AXIS}
          dataKey="x"
          domain={[left, right]}
          ticks={axis === "turns" ? wholeTicks(left, right) : elapsedTicks(right)}
          tickFormatter={(x: number) => (axis === "turns" ? `turn ${exact(x)}` : elapsedText(x))}
          height={22}
          interval="preserveStartEnd"
        />
        <YAxis
          {...BARE_AXIS}
          dataKey="y"
          domain={[0, top]}
          ticks={ticks}
          tickFormatter={(y: number) => (unit === "tokens" ? compact(y) : `${Number((y * 100).toFixed(1))}%`)}
          width={48}
          interval={0}
        />
        {lines.map(({ points }, index) => (
          <Line
            key={COMPARE_LOOKS[index]!.name}
            data={points}
            dataKey="y"
            type="linear"
            stroke={COMPARE_LOOKS[index]!.colour}
            strokeWidth={1.8}
            strokeDasharray={COMPARE_LOOKS[index]!.dash}
            dot={points.length === 1}
            activeDot={false}
            isAnimationActive={false}
          />
        ))}
        {lines.map(({ falls }, index) => (
          <Scatter
            key={COMPARE_LOOKS[index]!.name}
            data={falls}
            dataKey="y"
            isAnimationActive={false}
            shape={(mark: { cx?: number; cy?: number; payload?: CompareFall }) => (
              <g transform={`translate(${mark.cx ?? 0} ${mark.cy ?? 0})`}>
                {mark.payload !== undefined && (
                  <>
                    <title>{boundaryLabel(mark.payload.boundary)}</title>
                    <BoundaryGlyphPath type={mark.payload.boundary.type} />
                  </>
                )}
              </g>
            )}
          />
        ))}
      </ComposedChart>
    </ResponsiveContainer>
  );
}

const MINUTE = 60_000;
const STEPS = [1, 2, 5, 10, 15, 30, 60, 120, 240, 720, 1_440, 2_880, 10_080, 43_200].map(
  (minutes) => minutes * MINUTE,
);

/** About eight round times from the start. */
function elapsedTicks(to: number): number[] {
  const step = STEPS.find((size) => to / size <= 8) ?? 365 * 1_440 * MINUTE;
  return Array.from({ length: Math.floor(to / step) + 1 }, (_, index) => index * step);
}

const elapsedText = (ms: number) => (ms === 0 ? "start" : `+${duration(ms).replace(/ 0 (s|min|h)$/, "")}`);
