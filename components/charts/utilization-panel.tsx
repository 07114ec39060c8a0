/** @jsxImportSource #jsx */
"use client";

import type { Series } from "@plimsoll/protocol/api";
import dynamic from "next/dynamic";
import { memo, useMemo } from "react";
import { Zone } from "../clock.tsx";
import { fullTime, percent, plural } from "../format.ts";
import { Skeleton } from "../ui/states.tsx";
import { lineSourceText, lineSourceTitle } from "../words.ts";
import type { ChartActions } from "./chart-actions.ts";
import { ChartFrame, DataSince, DataTable, NoData, Swatch } from "./chart-frame.tsx";
import type { MarksShown } from "./marks-lane.tsx";
import { withinWindow } from "./outliers.ts";
import { bucketRows } from "./series-rows.ts";
import { linesInView, type SetThresholds, thresholdLines, thresholdPieces } from "./threshold-lines.ts";

const Chart = dynamic(() => import("./utilization-chart.tsx"), {
  ssr: false,
  loading: () => <Skeleton className="h-full" />,
});

const HEIGHT = 200;

interface Props extends ChartActions {
  peak: Series | undefined;
  p95: Series | undefined;
  p50: Series | undefined;
  /** The highest utilization now. */
  current: number | null;
  status: SetThresholds | undefined;
  /** When the data begins, if the chart leaves out the time before; epoch ms. */
  since: number | null;
  marks: MarksShown;
  /** Why one of the series failed to load; null if both loaded. */
  error: unknown;
  retry: () => void;
}

/** Current, median, p95 and peak utilization over time, with the thresholds given as shares of the window. */
export const UtilizationPanel = memo(function UtilizationPanel(props: Props) {
  const { peak, p95, p50, current, status, since, marks, error, retry, ...actions } = props;
  const { series: peakWithin, outliers } = useMemo(() => withinWindow(peak), [peak]);
  const rows = useMemo(
    () => bucketRows({ peak: peakWithin, p95: withinWindow(p95).series, p50: withinWindow(p50).series }),
    [peakWithin, p95, p50],
  );
  const step = (peak?.step ?? 0) * 1_000;
  const to = peak === undefined ? 0 : Date.parse(peak.range.to);
  const lines = useMemo(() => thresholdLines(status), [status]);
  const known = rows.filter((row) => typeof row.peak === "number" || typeof row.p95 === "number");
  const highest = known.reduce((most, row) => Math.max(most, row.peak ?? 0), 0);
  const near = useMemo(() => linesInView(lines, highest), [lines, highest]);
  const pieces = useMemo(() => {
    if (peak === undefined) return [];
    const range = { from: Date.parse(peak.range.from), to: Date.parse(peak.range.to) };
    return thresholdPieces(status, range).map((piece) => ({
      ...piece,
      lines: linesInView(piece.lines, highest),
    }));
  }, [peak, status, highest]);
  const chart =
    peak === undefined ? (
      <Skeleton className="h-full" />
    ) : known.length === 0 ? (
      <NoData>No turn with a known window size in this range</NoData>
    ) : (
      <Chart
        rows={rows}
        pieces={pieces}
        from={Date.parse(peak.range.from)}
        to={to}
        step={step}
        outliers={outliers}
        current={current === null ? null : { at: to, value: current }}
        marks={marks}
        {...actions}
      />
    );
  return (
    <ChartFrame
      title="Context window utilization"
      hint="The peak, the 95th percentile and the median of context tokens as a share of the window. Drag to zoom; click for the sessions."
      summary={
        peak === undefined
          ? "Loading."
          : known.length === 0
            ? "No turn with a known window size in this range."
            : `Peak utilization over time, ${plural(known.length, "point")}. Highest ${percent(highest)}. Thresholds: ${lines.map(({ label }) => label).join(", ")}.`
      }
      legend={
        <>
          <Swatch colour="var(--water)">peak</Swatch>
          <Swatch colour="var(--water-2)" line="solid">
            p95
          </Swatch>
          <Swatch colour="var(--muted)" line="dashed">
            median
          </Swatch>
          {current !== null && (
            <span
              className="inline-flex items-center gap-1.5"
              title="The highest utilization of a live agent now"
            >
              <span aria-hidden className="size-2 rounded-full bg-ink" /> now {percent(current)}
            </span>
          )}
          {outliers.length > 0 && (
            <span
              className="inline-flex items-center gap-1.5 text-warn-ink"
              title="Levels above 100% of the window say that its size is wrong. The chart leaves them out."
            >
              <span aria-hidden>▲</span> above 100%, left out
            </span>
          )}
          {near.map(({ name, label, colour, dashed }) => (
            <Swatch key={name} colour={colour} line={dashed ? "dashed" : "solid"}>
              {label}
            </Swatch>
          ))}
          {status !== undefined && near.length > 0 && (
            <span className="text-faint" title={lineSourceTitle(status.threshold_origin)}>
              {lineSourceText(status.threshold_origin)}
            </span>
          )}
          {pieces.length > 1 && <span className="text-faint">changed where they step</span>}
          {since !== null && <DataSince at={since} />}
          <Zone className="text-faint" />
        </>
      }
      height={HEIGHT}
      error={peak === undefined || p95 === undefined ? error : null}
      retry={retry}
      chart={chart}
      table={() => (
        <DataTable
          head={["From", "Peak", "p95", "Median"]}
          hrefs={known.toReversed().map(({ at }) => actions.hrefOf({ from: at, to: at + step }))}
          rows={known
            .toReversed()
            .map((row) => [
              fullTime(row.at),
              typeof row.peak === "number" ? percent(row.peak) : "",
              typeof row.p95 === "number" ? percent(row.p95) : "",
              typeof row.p50 === "number" ? percent(row.p50) : "",
            ])}
        />
      )}
    />
  );
});
