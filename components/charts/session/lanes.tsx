/** @jsxImportSource #jsx */
"use client";

import type { BoundaryView, ChartPoint } from "@plimsoll/protocol/api";
import { useId } from "react";
import { compact, exact, percent, plural } from "../../format.ts";
import { Name } from "../../ui/name.tsx";
import { BoundaryGlyphPath } from "../boundary-glyph.tsx";
import { CursorLine } from "./cursor-mark.tsx";
import { svgPath } from "./overlay.tsx";
import { type Domain, linearScales, type PlotArea } from "./scales.ts";
import type { OtherAgent, SawPoint } from "./shape.ts";
import type { TurnCursor } from "./turn-cursor.ts";
import { lineWithin } from "./zoom.ts";

/** A lane with its name above it: beside it, the name would move the axis of the chart. */
const LANE_PX = 30;
const NAME_PX = 18;
/** Room for a symbol above the highest level. */
const HEADROOM = 1.12;

/** Another agent of the session, as its lane needs it. */
export interface Lane extends OtherAgent {
  turns: readonly ChartPoint[];
  /** Places of its falls, on the axis of the chart. */
  falls: readonly { boundary: BoundaryView; x: number; y: number }[];
}

interface Props {
  lanes: readonly Lane[];
  domain: Domain;
  area: Pick<PlotArea, "x" | "width">;
  width: number;
  cursor: TurnCursor;
  points: readonly SawPoint[];
  onAgent: (id: string) => void;
}

/** One lane for each other agent, on the axis of the chart. Selecting one shows it in the chart. */
export function Lanes({
  lanes,
  domain,
  area: { x: left, width: plot },
  width,
  cursor,
  points,
  onAgent,
}: Props) {
  const clip = useId();
  // One scale, so that lanes compare.
  const top = Math.max(1, ...lanes.map(({ turns }) => levelsOf(turns).peak)) * HEADROOM;
  return (
    <section aria-label="Other agents" className="mt-2 border-t pt-2">
      <h3 className="mb-1 text-xs font-medium text-muted">
        Other agents{" "}
        <span className="font-normal text-faint">all lanes from 0 to {compact(top / HEADROOM)} tokens</span>
      </h3>
      <svg aria-hidden width={0} height={0} className="absolute">
        <clipPath id={clip}>
          <rect x={left - 4} y={0} width={Math.max(0, plot + 8)} height={LANE_PX} />
        </clipPath>
      </svg>
      <ul className="max-h-[404px] overflow-y-auto">
        {lanes.map((lane) => {
          const { peak, last, size } = levelsOf(lane.turns);
          const area = { x: left, y: 3, width: plot, height: LANE_PX - 6 };
          const scales = linearScales(area, domain, top);
          const line = lineWithin(lane.points, domain);
          const bottom = area.y + area.height;
          const words = `${lane.name}: ${plural(lane.turns.length, "turn")}, last ${exact(last)} tokens${
            size === null ? "" : `, ${percent(last / size)} of its window`
          }, peak ${exact(peak)}`;
          return (
            <li key={lane.id} className="border-t first:border-t-0" data-testid="saw-lane">
              <button
                type="button"
                aria-label={words}
                title={words}
                className="relative block w-full rounded-sm text-left -outline-offset-2 hover:bg-track/50"
                onClick={() => onAgent(lane.id)}
              >
                <span className="flex items-center justify-between gap-2 text-xs" style={{ height: NAME_PX }}>
                  <Name className="truncate">{lane.name}</Name>
                  <span className="shrink-0 text-tiny text-faint">
                    {compact(last)}
                    {size !== null && ` · ${percent(last / size)}`}
                  </span>
                </span>
                <svg width={width} height={LANE_PX} aria-hidden className="block">
                  <line x1={left} x2={left + plot} y1={bottom} y2={bottom} stroke="var(--rule)" />
                  <g clipPath={`url(#${clip})`}>
                    {line.length > 0 && (
                      <>
                        <path
                          d={`${svgPath(line, scales)}L${scales.x(line.at(-1)!.x)} ${bottom}L${scales.x(line[0]!.x)} ${bottom}Z`}
                          fill="var(--water-2)"
                          opacity={0.22}
                        />
                        <path
                          d={svgPath(line, scales)}
                          fill="none"
                          stroke="var(--water-2)"
                          strokeWidth={1.5}
                        />
                        {line.length === 1 && (
                          <circle
                            cx={scales.x(line[0]!.x)}
                            cy={scales.y(line[0]!.y)}
                            r={2.6}
                            fill="var(--water-2)"
                          />
                        )}
                      </>
                    )}
                    {lane.falls.map(({ boundary, x, y }) => (
                      <g
                        key={boundary.id}
                        transform={`translate(${scales.x(x).toFixed(1)} ${Math.max(area.y + 4, scales.y(y)).toFixed(1)}) scale(${boundary.type === "unexplained" ? 0.9 : 0.6})`}
                      >
                        <BoundaryGlyphPath type={boundary.type} />
                      </g>
                    ))}
                  </g>
                  <CursorLine scales={scales} cursor={cursor} points={points} />
                </svg>
              </button>
            </li>
          );
        })}
      </ul>
    </section>
  );
}

/** Tokens of an agent with at least one counted turn. */
function levelsOf(turns: readonly ChartPoint[]): { peak: number; last: number; size: number | null } {
  const counted = turns.filter(({ context_tokens }) => context_tokens !== null);
  return {
    peak: counted.reduce((most, { context_tokens }) => Math.max(most, context_tokens!), 0),
    last: counted.at(-1)?.context_tokens ?? 0,
    size: counted.at(-1)?.window_tokens ?? null,
  };
}
