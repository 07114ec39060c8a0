/** @jsxImportSource #jsx */
import { axisTime, compact, exact } from "../../format.ts";
import { textWidth } from "../text-width.ts";
import { levelTicks, timeTicks, wholeTicks } from "../ticks.ts";
import type { Domain, Scales } from "./scales.ts";
import type { Axis, SawPoint } from "./shape.ts";

/** Room for one label on the horizontal axis, in px. */
const TICK_PX = 84;
/** Between two labels. */
const GAP_PX = 8;

interface Props {
  scales: Scales;
  domain: Domain;
  axis: Axis;
  /** Turns of the selected agent that are in view: labels name only those. */
  points: readonly SawPoint[];
  /** Highest level that is drawn, in tokens. */
  top: number;
}

/** Grid lines with their levels, and turns or times below them. */
export function AxisFrame({ scales: { x, y, area }, domain: [from, to], axis, points, top }: Props) {
  const bottom = area.y + area.height;
  const right = area.x + area.width;
  const most = Math.max(2, Math.floor(area.width / TICK_PX));
  const ticks =
    axis === "turns"
      ? wholeTicks(points[0]?.x ?? from, points.at(-1)?.x ?? to, most)
      : timeTicks(from, to, most);
  const text = (at: number) => (axis === "turns" ? `turn ${exact(at)}` : axisTime(at, to - from));
  let taken = Number.NEGATIVE_INFINITY;
  const shown = ticks.flatMap((at) => {
    const words = text(at);
    const half = textWidth(words) / 2;
    const centre = Math.min(Math.max(x(at), area.x + half - 8), right - half + 8);
    if (centre - half < taken) return [];
    taken = centre + half + GAP_PX;
    return [{ at, words, centre }];
  });
  return (
    <g aria-hidden>
      {levelTicks(top).map((level) => (
        <g key={level}>
          <line x1={area.x} x2={right} y1={y(level)} y2={y(level)} stroke="var(--rule)" />
          <text x={area.x - 8} y={y(level) + 4} textAnchor="end" className="chart-text">
            {compact(level)}
          </text>
        </g>
      ))}
      <line x1={area.x} x2={right} y1={bottom} y2={bottom} stroke="var(--edge)" />
      {shown.map(({ at, words, centre }) => (
        <text key={at} x={centre} y={bottom + 16} textAnchor="middle" className="chart-text">
          {words}
        </text>
      ))}
    </g>
  );
}
