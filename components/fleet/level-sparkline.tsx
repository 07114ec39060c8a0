/** @jsxImportSource #jsx */
import type { FleetAgent } from "@plimsoll/protocol/api";
import { memo } from "react";
import { BoundaryGlyphPath } from "../charts/boundary-glyph.tsx";
import { recentText } from "../words.ts";
import { sparkline } from "./sparkline.ts";

const SIZE = { width: 172, height: 26, margin: 4 };

/** The levels of an agent's latest turns, with a mark of its type at each fall. */
export const LevelSparkline = memo(function LevelSparkline({ agent }: { agent: FleetAgent }) {
  const { path, falls, last, lineY } = sparkline(agent.recent, agent.line?.tokens ?? null, SIZE);
  const words = recentText(agent.recent);
  return (
    <svg
      role="img"
      aria-label={words}
      viewBox={`0 0 ${SIZE.width} ${SIZE.height}`}
      width={SIZE.width}
      height={SIZE.height}
      className="block max-w-full"
      data-testid="sparkline"
    >
      <title>{words}</title>
      {lineY !== null && (
        <line
          x1={0}
          x2={SIZE.width}
          y1={lineY}
          y2={lineY}
          stroke="var(--line)"
          strokeWidth={1}
          strokeDasharray="2 3"
        />
      )}
      <path d={path} fill="none" stroke="var(--water)" strokeWidth={1.5} strokeLinejoin="round" />
      {falls.map(({ x, y, type }) => (
        <g key={x} transform={`translate(${x} ${y}) scale(0.62)`}>
          <BoundaryGlyphPath type={type} />
        </g>
      ))}
      {last !== null && <circle cx={last.x} cy={last.y} r={2.2} fill="var(--ink)" />}
    </svg>
  );
});
