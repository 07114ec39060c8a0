"use client";

import { Bar, BarChart, CartesianGrid, ResponsiveContainer, Tooltip, XAxis, YAxis } from "recharts";
import { exact, fullTime } from "../format.ts";
import { boundaryName } from "../words.ts";
import { BARE_AXIS, timeAxis } from "./axes.ts";
import { boundaryLook } from "./boundary-looks.ts";
import { tooltipBox } from "./chart-frame.tsx";
import { barDomain, type SeriesRow } from "./series-rows.ts";
import { wholeTicks } from "./ticks.ts";

interface Props {
  rows: SeriesRow[];
  groups: string[];
  from: number;
  to: number;
  /** Bucket length in ms. */
  step: number;
}

const MARGIN = { top: 12, right: 4, bottom: 0, left: 0 };

export default function BoundariesChart({ rows, groups, from, to, step }: Props) {
  const highest = rows.reduce(
    (most, row) =>
      Math.max(
        most,
        groups.reduce((sum, group) => sum + (row[group] ?? 0), 0),
      ),
    1,
  );
  const ticks = wholeTicks(0, Math.max(highest, 2), 4);
  // Center each bar in its bucket.
  const centred = rows.map((row) => ({ ...row, middle: row.at + step / 2 }));
  return (
    <ResponsiveContainer width="100%" height="100%">
      <BarChart data={centred} margin={MARGIN} barCategoryGap="18%">
        <CartesianGrid vertical={false} horizontalValues={ticks} stroke="var(--rule)" />
        <XAxis
          dataKey="middle"
          domain={barDomain(rows, groups, { from, to, step })}
          allowDataOverflow
          {...timeAxis(from, to, 4)}
        />
        <YAxis
          {...BARE_AXIS}
          domain={[0, Math.max(highest, 2) * 1.05]}
          ticks={ticks}
          width={34}
          interval={0}
        />
        <Tooltip
          isAnimationActive={false}
          cursor={{ fill: "var(--track)", opacity: 0.6 }}
          content={({ active, payload }) => {
            const row = payload?.[0]?.payload as SeriesRow | undefined;
            if (!active || row === undefined) return null;
            const some = groups.filter((group) => (row[group] ?? 0) > 0);
            return (
              <div className={tooltipBox}>
                <div className="text-faint">from {fullTime(row.at ?? 0)}</div>
                {some.length === 0 && <div>no boundaries</div>}
                {some.map((group) => (
                  <div key={group}>
                    {exact(row[group] ?? 0)} {boundaryName(group)}
                  </div>
                ))}
              </div>
            );
          }}
        />
        {groups.map((group) => (
          <Bar
            key={group}
            dataKey={group}
            stackId="boundaries"
            fill={boundaryLook(group).colour}
            stroke="var(--panel)"
            strokeWidth={1}
            maxBarSize={14}
            isAnimationActive={false}
          />
        ))}
      </BarChart>
    </ResponsiveContainer>
  );
}
