/** @jsxImportSource #jsx */
"use client";

import { useId } from "react";
import { compact, exact, percent } from "../../format.ts";
import type { CompositionPart, CompositionRow } from "../composition-parts.ts";
import { TextureSwatch, Textures } from "../textures.tsx";
import { compositionBands, highestStack } from "./composition-bands.ts";
import { CursorLine } from "./cursor-mark.tsx";
import { svgPath } from "./overlay.tsx";
import { type Domain, linearScales, type PlotArea } from "./scales.ts";
import type { SawPoint } from "./shape.ts";
import { type TurnCursor, useCursorPlace } from "./turn-cursor.ts";

const HEIGHT_PX = 92;
/** Width of a turn that has no neighbor with known parts. */
const LONE_PX = 4;

interface Props {
  /** Turns of the selected agent that are in view. */
  points: readonly SawPoint[];
  rows: readonly CompositionRow[];
  parts: readonly CompositionPart[];
  domain: Domain;
  area: Pick<PlotArea, "x" | "width">;
  width: number;
  cursor: TurnCursor;
}

/** What fills the window by turn, on the axis of the chart. */
export function Composition({
  points,
  rows,
  parts,
  domain,
  area: { x: left, width: plot },
  width,
  cursor,
}: Props) {
  const id = useId();
  const shown = new Set(points.map(({ point }) => point.number));
  const inView = rows.filter(({ number }) => shown.has(number));
  const top = highestStack(inView);
  const isEstimated = points.some(({ point }) => point.composition_estimated);
  const area = { x: left, y: 6, width: plot, height: HEIGHT_PX - 12 };
  const scales = linearScales(area, domain, top);
  const bottom = area.y + area.height;
  return (
    <section aria-label="Window composition" className="mt-2 border-t pt-2">
      <div className="mb-0.5 flex flex-wrap items-center gap-x-3.5 gap-y-2.5 text-xs text-muted">
        <h3 className="font-medium">What fills the window</h3>
        {isEstimated && (
          <span
            className="rounded-full border border-edge px-1.5 text-faint"
            title="Estimated from the text of the transcript. Tokens that it does not show, such as the system prompt and tool definitions, are unattributed."
          >
            estimated
          </span>
        )}
        <Legend id={id} rows={inView} parts={parts} cursor={cursor} />
      </div>
      {inView.length === 0 ? (
        <p className="py-2 text-xs text-faint">No turn in view reports its parts.</p>
      ) : (
        <svg width={width} height={HEIGHT_PX} aria-hidden className="block">
          <Textures id={id} fills={parts} />
          <text x={left - 8} y={area.y + 8} textAnchor="end" className="chart-text">
            {compact(top)}
          </text>
          <text x={left - 8} y={bottom} textAnchor="end" className="chart-text">
            0
          </text>
          <line x1={left} x2={left + plot} y1={bottom} y2={bottom} stroke="var(--edge)" />
          {compositionBands(points, rows, parts).map(({ name, upper, lower }) => {
            const [first, last] = [upper[0]!, upper.at(-1)!];
            if (upper.length === 1)
              return (
                <rect
                  key={`${name}/${first.x}`}
                  x={scales.x(first.x) - LONE_PX / 2}
                  y={scales.y(first.y)}
                  width={LONE_PX}
                  height={Math.max(0, scales.y(lower[0]!.y) - scales.y(first.y))}
                  fill={`url(#${id}${name})`}
                />
              );
            return (
              <path
                key={`${name}/${first.x}/${last.x}`}
                d={`${svgPath(upper, scales)}${svgPath(lower.toReversed(), scales).replace("M", "L")}Z`}
                fill={`url(#${id}${name})`}
                stroke="var(--panel)"
                strokeWidth={0.8}
                data-part={name}
              />
            );
          })}
          <CursorLine scales={scales} cursor={cursor} points={points} />
        </svg>
      )}
    </section>
  );
}

/** The share of each part at the turn under the cursor, or at the latest one in view. */
function Legend({
  id,
  rows,
  parts,
  cursor,
}: {
  id: string;
  rows: readonly CompositionRow[];
  parts: readonly CompositionPart[];
  cursor: TurnCursor;
}) {
  const place = useCursorPlace(cursor);
  const row = (place && rows.findLast(({ number }) => number <= place.turn)) ?? rows.at(-1);
  if (row === undefined) return null;
  const total = parts.reduce((sum, { name }) => sum + (row[name] ?? 0), 0);
  return (
    <>
      <span className="text-faint">turn {exact(row.number)}</span>
      <ul className="contents">
        {parts.map(({ name, label }) => {
          const tokens = row[name] ?? 0;
          return (
            <li
              key={name}
              className="inline-flex items-center gap-1.5 whitespace-nowrap"
              title={`${exact(tokens)} tokens at turn ${exact(row.number)}`}
            >
              <TextureSwatch id={id} name={name} />
              {label} {percent(total === 0 ? 0 : tokens / total)}
            </li>
          );
        })}
      </ul>
    </>
  );
}
