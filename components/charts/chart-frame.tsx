"use client";

import type { ReactNode } from "react";
import { useState } from "react";
import { Button } from "../ui/button.tsx";
import { ScrollRegion } from "../ui/scroll-region.tsx";
import { Skeleton } from "../ui/states.tsx";

interface Props {
  title: string;
  /** Explains the title, on hover. */
  hint?: string;
  /** Text alternative of the chart. */
  summary: string;
  legend: ReactNode;
  controls?: ReactNode;
  chart: ReactNode;
  table: ReactNode;
  height: number;
}

/** A chart with a title, a text summary and a table view of the same numbers. */
export function ChartFrame({ title, hint, summary, legend, controls, chart, table, height }: Props) {
  const [asTable, setAsTable] = useState(false);
  return (
    <section aria-label={title} className="panel min-w-0 px-4 py-3.5">
      <div className="mb-0.5 flex flex-wrap items-center justify-between gap-x-3 gap-y-1">
        <h2 title={hint} className="min-w-0 text-[13px] font-semibold wrap-anywhere">
          {title}
        </h2>
        <div className="-mr-2 flex shrink-0 items-center gap-1.5">
          {controls}
          <Button size="small" look="ghost" aria-pressed={asTable} onClick={() => setAsTable(!asTable)}>
            {asTable ? "View as chart" : "View as table"}
          </Button>
        </div>
      </div>
      <div className="mb-1 flex min-h-[22px] flex-wrap items-center gap-x-3.5 gap-y-1 text-xs text-muted">
        {!asTable && legend}
      </div>
      <p className="sr-only">{summary}</p>
      {asTable ? (
        <ScrollRegion label={`${title}, as a table`} className="overflow-auto" style={{ height }}>
          {table}
        </ScrollRegion>
      ) : (
        <div style={{ height }}>{chart}</div>
      )}
    </section>
  );
}

export function Swatch({
  colour,
  line,
  children,
}: {
  colour: string;
  line?: "solid" | "dashed";
  children: ReactNode;
}) {
  return (
    <span className="inline-flex items-center gap-1.5 whitespace-nowrap">
      {line === undefined ? (
        <span aria-hidden className="size-2.5 rounded-[2px]" style={{ background: colour }} />
      ) : (
        <span aria-hidden className="w-3.5" style={{ borderTop: `2px ${line} ${colour}` }} />
      )}
      {children}
    </span>
  );
}

export function DataTable({ head, rows }: { head: readonly string[]; rows: readonly (readonly string[])[] }) {
  return (
    <table className="w-full text-[13px]">
      <thead>
        <tr className="text-left text-xs text-faint">
          {head.map((name) => (
            <th
              key={name}
              scope="col"
              className="sticky top-0 bg-panel py-1.5 pr-4 font-medium whitespace-nowrap"
            >
              {name}
            </th>
          ))}
        </tr>
      </thead>
      <tbody>
        {rows.map((row) => (
          <tr key={row.join("|")} className="border-t">
            {row.map((cell, index) => (
              <td key={head[index]} className="py-1 pr-4 whitespace-nowrap">
                {cell}
              </td>
            ))}
          </tr>
        ))}
      </tbody>
    </table>
  );
}

export function NoData({ children }: { children: ReactNode }) {
  return <div className="grid h-full place-items-center text-[13px] text-muted">{children}</div>;
}

/** Placeholder of a chart whose data is loading or failed to load. */
export function Waiting({ failed }: { failed: boolean }) {
  return failed ? <NoData>Failed to load</NoData> : <Skeleton className="h-full" />;
}

export const tooltipBox =
  "rounded-lg border border-edge bg-raised px-3 py-2 text-xs leading-relaxed text-ink shadow-lg";
