"use client";

import type { Series } from "@plimsoll/protocol";
import dynamic from "next/dynamic";
import { memo, useMemo } from "react";
import { Zone } from "../clock.tsx";
import { fullTime, percent } from "../format.ts";
import { Skeleton } from "../ui/states.tsx";
import { lineSourceText, lineSourceTitle } from "../words.ts";
import { ChartFrame, DataTable, NoData, Swatch } from "./chart-frame.tsx";
import { bucketRows } from "./series-rows.ts";
import { linesInView, type SetThresholds, thresholdLines, thresholdPieces } from "./threshold-lines.ts";

const Chart = dynamic(() => import("./utilization-chart.tsx"), {
  ssr: false,
  loading: () => <Skeleton className="h-full" />,
});

const HEIGHT = 200;

interface Props {
  peak: Series | undefined;
  p95: Series | undefined;
  status: SetThresholds | undefined;
  /** Why one of the series failed to load; null if both loaded. */
  error: unknown;
  retry: () => void;
}

/** Peak and p95 utilization over time, with the thresholds given as shares of the window. */
export const UtilizationPanel = memo(function UtilizationPanel({ peak, p95, status, error, retry }: Props) {
  const rows = useMemo(() => bucketRows({ peak, p95 }), [peak, p95]);
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
      <Chart rows={rows} pieces={pieces} from={Date.parse(peak.range.from)} to={Date.parse(peak.range.to)} />
    );
  return (
    <ChartFrame
      title="Context window utilization"
      hint="The peak and the 95th percentile of context tokens as a share of the window."
      summary={
        known.length === 0
          ? "No turn with a known window size in this range."
          : `Peak utilization over time, ${known.length} points. Highest ${percent(highest)}. Thresholds: ${lines.map(({ label }) => label).join(", ")}.`
      }
      legend={
        <>
          <Swatch colour="var(--water)">peak</Swatch>
          <Swatch colour="var(--water-2)" line="solid">
            p95
          </Swatch>
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
          <Zone className="text-faint" />
        </>
      }
      height={HEIGHT}
      error={peak === undefined || p95 === undefined ? error : null}
      retry={retry}
      chart={chart}
      table={
        <DataTable
          head={["From", "Peak", "p95"]}
          rows={known
            .toReversed()
            .map((row) => [
              fullTime(row.at),
              typeof row.peak === "number" ? percent(row.peak) : "",
              typeof row.p95 === "number" ? percent(row.p95) : "",
            ])}
        />
      }
    />
  );
});
