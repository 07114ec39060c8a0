"use client";

import type { ChartPoint } from "@plimsoll/protocol";
import dynamic from "next/dynamic";
import { useMemo } from "react";
import { compositionRows } from "../charts/composition-parts.ts";
import { exact, percent } from "../format.ts";
import { Skeleton } from "../ui/states.tsx";

const Chart = dynamic(() => import("../charts/composition-chart.tsx"), {
  ssr: false,
  loading: () => <Skeleton className="h-full" />,
});

/** Composition of the context by turn. Renders nothing if the harness does not report it. */
export function CompositionPanel({ points }: { points: ChartPoint[] }) {
  const { rows, parts } = useMemo(() => compositionRows(points), [points]);
  if (rows.length === 0) return null;
  return (
    <section aria-label="Window composition" className="panel px-4 py-3.5">
      <h2 className="mb-1.5 text-[13px] font-semibold">
        Window composition <span className="font-normal text-faint">tokens by turn</span>
      </h2>
      <div className="h-[120px]" aria-hidden>
        <Chart rows={rows} parts={parts} />
      </div>
      <ul className="mt-2 flex flex-wrap gap-x-3.5 gap-y-1 text-xs text-muted">
        {parts.map(({ name, label, colour, tokens, share }) => (
          <li
            key={name}
            className="inline-flex items-center gap-1.5"
            title={`${exact(tokens)} tokens at the latest turn`}
          >
            <span
              aria-hidden
              className="size-2.5 rounded-[2px] border border-edge"
              style={{ background: colour }}
            />
            {label} {percent(share)}
          </li>
        ))}
      </ul>
    </section>
  );
}
