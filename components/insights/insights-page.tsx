/** @jsxImportSource #jsx */
"use client";

import { OUTCOME_SIGNALS } from "@plimsoll/protocol/pure";
import { useQuery } from "@tanstack/react-query";
import { parseAsStringLiteral, useQueryState } from "nuqs";
import { useTimeZone } from "../clock.tsx";
import { useChartActions } from "../fleet/use-chart-actions.ts";
import { keep, useChartRange, useRangeQueries } from "../fleet/use-fleet-queries.ts";
import { useMarks } from "../fleet/use-marks.ts";
import { useSessionsHref } from "../fleet/use-sessions-href.ts";
import { stepFor } from "../range.ts";
import { HarnessFilter } from "../shell/harness-filter.tsx";
import { PageHeader } from "../shell/page-header.tsx";
import { RangePicker } from "../shell/range-picker.tsx";
import { FallsPanel } from "./falls-panel.tsx";
import { QualityPanel } from "./quality-panel.tsx";
import { RebuildsPanel } from "./rebuilds-panel.tsx";
import { SpendingPanel } from "./spending-panel.tsx";
import { ToolsPanel } from "./tools-panel.tsx";

const BUCKETS = 48;
/** Causes that have a part of their own. */
const CAUSES = 16;

/** What full windows do to the work, and what falls cost. */
export function InsightsPage() {
  return (
    <>
      <PageHeader title="Insights">
        <HarnessFilter />
        <RangePicker />
      </PageHeader>
      <div className="grid gap-4">
        <QualityOfRange />
        <FallsOfRange />
        <Rebuilds />
        <SpendingOfRange />
        <ToolsOfRange />
      </div>
    </>
  );
}

function QualityOfRange() {
  const { trpc, range } = useRangeQueries();
  const [signal, setSignal] = useQueryState(
    "signal",
    parseAsStringLiteral(OUTCOME_SIGNALS).withDefault("failed").withOptions({ history: "replace" }),
  );
  const { data, error, refetch } = useQuery(trpc.quality.queryOptions({ ...range, signal }, keep));
  return (
    <QualityPanel
      quality={data}
      signal={signal}
      onSignal={(next) => void setSignal(next)}
      error={error}
      retry={() => void refetch()}
    />
  );
}

function FallsOfRange() {
  const { trpc, range } = useRangeQueries();
  const { data, error, refetch } = useQuery(trpc.falls.queryOptions(range, keep));
  return <FallsPanel falls={data} error={error} retry={() => void refetch()} />;
}

function SpendingOfRange() {
  const { trpc, range } = useRangeQueries();
  const time_zone = useTimeZone();
  const { data, error, refetch } = useQuery(trpc.spending.days.queryOptions({ ...range, time_zone }, keep));
  return <SpendingPanel spending={data} error={error} retry={() => void refetch()} />;
}

function ToolsOfRange() {
  const { trpc, range } = useRangeQueries();
  const { data, error, refetch } = useQuery(trpc.contents.queryOptions(range, keep));
  return <ToolsPanel contents={data} error={error} retry={() => void refetch()} />;
}

function Rebuilds() {
  const { trpc, range, span } = useRangeQueries();
  const known = useChartRange();
  const drawn = known ?? { range, span, since: null };
  const options = { ...keep, enabled: known !== undefined };
  const input = {
    group_by: "type",
    top: CAUSES,
    ...drawn.range,
    step: stepFor(drawn.span, BUCKETS),
  } as const;
  const tokens = useQuery(trpc.series.queryOptions({ metric: "cache_rebuilt_tokens", ...input }, options));
  const sums = useQuery(trpc.rebuilds.queryOptions(range, keep));
  const { boundaries: actions } = useChartActions(useSessionsHref());
  const { shown: marks } = useMarks(drawn.range, known !== undefined);
  return (
    <RebuildsPanel
      tokens={tokens.data}
      sums={sums.data}
      since={drawn.since}
      marks={marks}
      error={tokens.error}
      retry={() => {
        void tokens.refetch();
        void sums.refetch();
      }}
      {...actions}
    />
  );
}
