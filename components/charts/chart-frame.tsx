/** @jsxImportSource #jsx */
"use client";

import type { ReactNode } from "react";
import { useRef, useState } from "react";
import { shortTime } from "../format.ts";
import type { Word } from "../glossary.ts";
import { Link } from "../projects/link.tsx";
import { Button } from "../ui/button.tsx";
import { ScrollRegion } from "../ui/scroll-region.tsx";
import { ErrorState } from "../ui/states.tsx";
import { Term } from "../ui/term.tsx";

interface Props {
  title: string;
  /** Explains the title. */
  hint?: string;
  /** The word of the glossary that explains the title. */
  word?: Word;
  /** Text alternative of the chart. */
  summary: string;
  legend: ReactNode;
  controls?: ReactNode;
  chart: ReactNode;
  /** Renders the table. Called only while the table is shown. */
  table: () => ReactNode;
  height: number;
  /** What stays below the chart and the table. */
  below?: ReactNode;
  /** True if the chart is at least that high, and sets its own height. */
  grows?: boolean;
  /** Why the data failed to load; null if it did not. Replaces the chart and the table. */
  error?: unknown;
  /** Loads the data again after an error. */
  retry?: () => void;
}

/** A chart with a title, a text summary and a table view of the same numbers. */
export function ChartFrame(props: Props) {
  const {
    title,
    hint,
    word,
    summary,
    legend,
    controls,
    chart,
    table,
    height,
    below,
    grows = false,
    error = null,
    retry,
  } = props;
  const [asTable, setAsTable] = useState(false);
  const section = useRef<HTMLElement>(null);
  function tryAgain() {
    // The button disappears while the data loads, so move the focus to what stays.
    section.current?.focus();
    retry?.();
  }
  return (
    <section ref={section} tabIndex={-1} aria-label={title} className="panel min-w-0 px-4 py-3.5">
      <div className="mb-1 flex flex-wrap items-center justify-between gap-x-3 gap-y-1">
        <h2 className="min-w-0 text-[13px] font-semibold wrap-anywhere">
          {hint === undefined && word === undefined ? (
            title
          ) : (
            <Term here={hint} word={word}>
              {title}
            </Term>
          )}
        </h2>
        <div className="-mr-2 flex shrink-0 items-center gap-1.5">
          {controls !== undefined && <div className={asTable ? "invisible" : undefined}>{controls}</div>}
          <Button size="small" look="ghost" aria-pressed={asTable} onClick={() => setAsTable(!asTable)}>
            {asTable ? "View as chart" : "View as table"}
          </Button>
        </div>
      </div>
      <div className="mb-1 flex min-h-[22px] flex-wrap items-center gap-x-3.5 gap-y-2.5 text-xs text-muted">
        {!asTable && error === null && legend}
      </div>
      {error === null && <p className="sr-only">{summary}</p>}
      {error !== null ? (
        <div className="grid place-items-center" style={{ minHeight: height }}>
          <ErrorState what="this chart" error={error} retry={tryAgain} className="py-0" />
        </div>
      ) : asTable ? (
        <ScrollRegion label={`${title}, as a table`} className="overflow-auto" style={{ height }}>
          {table()}
        </ScrollRegion>
      ) : (
        <div
          // Recharts reads sizes after it has drawn; so only this box is laid out for them.
          className={grows ? "relative" : "relative [contain:layout_size]"}
          style={grows ? { minHeight: height } : { height }}
        >
          {chart}
        </div>
      )}
      {error === null && below}
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
        <span aria-hidden data-swatch className="size-2.5 rounded-[2px]" style={{ background: colour }} />
      ) : (
        <span aria-hidden data-swatch className="w-3.5" style={{ borderTop: `2px ${line} ${colour}` }} />
      )}
      {children}
    </span>
  );
}

/** Says that a chart begins with the first event. The charts are drawn in the browser only, in its time zone. */
export function DataSince({ at }: { at: number }) {
  return (
    <span className="text-faint" data-testid="data-since" title="There are no events before in this range.">
      from the first event, {shortTime(at)}
    </span>
  );
}

interface DataTableProps {
  /** Its name, where a view has several tables. */
  label?: string;
  head: readonly string[];
  rows: readonly (readonly string[])[];
  /** Where the first cell of each row leads. */
  hrefs?: readonly string[];
}

export function DataTable({ label, head, rows, hrefs }: DataTableProps) {
  const link = "text-accent underline underline-offset-2";
  return (
    <table aria-label={label} className="w-full text-[13px]">
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
        {keyed(rows).map(({ key, row }, at) => (
          <tr key={key} className="border-t">
            {row.map((cell, index) => (
              <td key={head[index]} className="py-1 pr-4 whitespace-nowrap">
                {index === 0 && hrefs?.[at] !== undefined ? (
                  <Link href={hrefs[at]} className={link}>
                    {cell}
                  </Link>
                ) : (
                  cell
                )}
              </td>
            ))}
          </tr>
        ))}
      </tbody>
    </table>
  );
}

/** Rows with keys by what they say. Two rows may say the same. */
function keyed(rows: readonly (readonly string[])[]): { key: string; row: readonly string[] }[] {
  const seen = new Map<string, number>();
  return rows.map((row) => {
    const words = row.join("|");
    const before = seen.get(words) ?? 0;
    seen.set(words, before + 1);
    return { key: `${words}|${before}`, row };
  });
}

export function NoData({ children }: { children: ReactNode }) {
  return <div className="absolute inset-0 grid place-items-center text-[13px] text-muted">{children}</div>;
}

export const tooltipBox =
  "rounded-lg border border-edge bg-raised px-3 py-2 text-xs leading-relaxed text-ink shadow-lg";
