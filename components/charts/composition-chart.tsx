"use client";

import { Area, AreaChart, ResponsiveContainer, Tooltip, XAxis, YAxis } from "recharts";
import { compact, exact } from "../format.ts";
import { BARE_AXIS } from "./axes.ts";
import { tooltipBox } from "./chart-frame.tsx";
import type { CompositionPart, CompositionRow } from "./composition-parts.ts";
import { levelTicks } from "./ticks.ts";

export default function CompositionChart({
  rows,
  parts,
}: {
  rows: CompositionRow[];
  parts: CompositionPart[];
}) {
  const top = rows.reduce(
    (most, row) =>
      Math.max(
        most,
        parts.reduce((sum, { name }) => sum + (row[name] ?? 0), 0),
      ),
    1,
  );
  const from = rows[0]?.number ?? 0;
  const to = rows.at(-1)?.number ?? 1;
  return (
    <ResponsiveContainer width="100%" height="100%">
      <AreaChart data={rows} accessibilityLayer={false} margin={{ top: 6, right: 2, bottom: 6, left: 0 }}>
        <XAxis type="number" dataKey="number" domain={[from, Math.max(to, from + 1)]} hide />
        <YAxis
          {...BARE_AXIS}
          domain={[0, top]}
          ticks={levelTicks(top, 3)}
          tickFormatter={compact}
          width={40}
          interval={0}
        />
        <Tooltip
          isAnimationActive={false}
          cursor={{ stroke: "var(--edge)" }}
          content={({ active, payload }) => {
            const row = payload?.[0]?.payload as CompositionRow | undefined;
            if (!active || row === undefined) return null;
            return (
              <div className={tooltipBox}>
                <div className="text-faint">turn {exact(row.number ?? 0)}</div>
                {parts.map(({ name, label }) => (
                  <div key={name}>
                    {label} {exact(row[name] ?? 0)}
                  </div>
                ))}
              </div>
            );
          }}
        />
        {parts.map(({ name, colour }) => (
          <Area
            key={name}
            dataKey={name}
            type="linear"
            stackId="parts"
            stroke="var(--panel)"
            strokeWidth={1}
            fill={colour}
            fillOpacity={0.9}
            isAnimationActive={false}
          />
        ))}
      </AreaChart>
    </ResponsiveContainer>
  );
}
