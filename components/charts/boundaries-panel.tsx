/** @jsxImportSource #jsx */
"use client";

import { isBoundary } from "@plimsoll/fold";
import type { Series } from "@plimsoll/protocol/api";
import dynamic from "next/dynamic";
import { memo, useCallback, useId, useMemo } from "react";
import { compact, exact, fullTime } from "../format.ts";
import { boundaryWord } from "../glossary.ts";
import { Skeleton } from "../ui/states.tsx";
import { Term } from "../ui/term.tsx";
import { boundaryName } from "../words.ts";
import { BOUNDARY_ORDER, boundaryLook } from "./boundary-looks.ts";
import type { ChartActions } from "./chart-actions.ts";
import { ChartFrame, DataSince, DataTable, NoData } from "./chart-frame.tsx";
import type { MarksShown } from "./marks-lane.tsx";
import { stackedRows } from "./series-rows.ts";
import { TextureSwatch, Textures } from "./textures.tsx";

const Chart = dynamic(() => import("./stacked-chart.tsx"), {
  ssr: false,
  loading: () => <Skeleton className="h-full" />,
});

const typeOf = (group: string) => (isBoundary(group) ? group : undefined);

interface Props extends ChartActions {
  series: Series | undefined;
  /** Tokens reclaimed by all boundaries in the range; undefined while loading. */
  reclaimed: number | undefined;
  /** When the data begins, if the chart leaves out the time before; epoch ms. */
  since: number | null;
  marks: MarksShown;
  /** Why the series failed to load; null if it did not. */
  error: unknown;
  retry: () => void;
}

/** Boundary counts over time, by type. */
export const BoundariesPanel = memo(function BoundariesPanel(props: Props) {
  const { series, reclaimed, since, marks, error, retry, ...actions } = props;
  const stack = useMemo(() => {
    if (series === undefined) return undefined;
    const shaped = stackedRows(series);
    const order = (name: string) =>
      BOUNDARY_ORDER.includes(name) ? BOUNDARY_ORDER.indexOf(name) : BOUNDARY_ORDER.length;
    return { ...shaped, groups: shaped.groups.sort((a, b) => order(a) - order(b)) };
  }, [series]);
  const groups = stack?.groups ?? [];
  const id = useId();
  const fillOf = useCallback((group: string) => `url(#${id}${group})`, [id]);
  const counts = groups
    .map((group) => `${exact(stack?.totals[group] ?? 0)} ${boundaryName(group)}`)
    .join(", ");
  const sum = reclaimed === undefined || reclaimed === 0 ? "" : ` ${exact(reclaimed)} tokens reclaimed.`;
  const some = useMemo(
    () =>
      (stack?.rows ?? []).filter((row) => stack?.groups.some((group) => (row[group] ?? 0) > 0)).toReversed(),
    [stack],
  );
  const step = (series?.step ?? 0) * 1_000;
  return (
    <ChartFrame
      title="Boundaries over time"
      word="boundary"
      summary={
        series === undefined
          ? "Loading."
          : counts === ""
            ? "No boundaries in this range."
            : `Boundaries over time: ${counts}.${sum}`
      }
      legend={
        <>
          <svg aria-hidden className="absolute size-0">
            <Textures id={id} fills={groups.map((name) => ({ name, ...boundaryLook(name) }))} />
          </svg>
          {groups.map((group) => (
            <span key={group} className="inline-flex items-center gap-1 whitespace-nowrap">
              <TextureSwatch id={id} name={group} />{" "}
              <Term word={boundaryWord(group)}>{boundaryName(group)}</Term>
            </span>
          ))}
          {reclaimed !== undefined && reclaimed > 0 && (
            <span
              className="text-faint"
              data-testid="reclaimed"
              title={`Boundaries of every type reclaimed ${exact(reclaimed)} tokens`}
            >
              {compact(reclaimed)} tokens reclaimed
            </span>
          )}
          {since !== null && <DataSince at={since} />}
        </>
      }
      height={200}
      error={series === undefined ? error : null}
      retry={retry}
      chart={
        series === undefined || stack === undefined ? (
          <Skeleton className="h-full" />
        ) : groups.length === 0 ? (
          <NoData>No boundaries in this range</NoData>
        ) : (
          <Chart
            rows={stack.rows}
            groups={groups}
            fillOf={fillOf}
            from={Date.parse(series.range.from)}
            to={Date.parse(series.range.to)}
            step={series.step * 1000}
            marks={marks}
            nameOf={boundaryName}
            typeOf={typeOf}
            none="no boundaries"
            {...actions}
          />
        )
      }
      table={() => (
        <DataTable
          head={["From", ...groups.map(boundaryName)]}
          hrefs={some.map(({ at }) => actions.hrefOf({ from: at, to: at + step }))}
          rows={some.map((row) => [fullTime(row.at), ...groups.map((group) => exact(row[group] ?? 0))])}
        />
      )}
    />
  );
});
