"use client";

import { keepPreviousData, useQuery } from "@tanstack/react-query";
import { FallsPanel } from "../charts/falls-panel.tsx";
import { UtilizationPanel } from "../charts/utilization-panel.tsx";
import { Ago } from "../clock.tsx";
import { exact, plural } from "../format.ts";
import { Link } from "../projects/link.tsx";
import { stepFor } from "../range.ts";
import { FirstEvent } from "../setup/first-event.tsx";
import { HarnessFilter } from "../shell/harness-filter.tsx";
import { PageHeader } from "../shell/page-header.tsx";
import { RangePicker } from "../shell/range-picker.tsx";
import { useTRPC } from "../trpc.ts";
import { ErrorState } from "../ui/states.tsx";
import { useHarness, usePeriod } from "../url.ts";
import { FleetRows, FleetRowsSkeleton } from "./rows.tsx";
import { FleetTiles } from "./tiles.tsx";

const PEAK_BUCKETS = 120;
const BAR_BUCKETS = 48;

const keep = { placeholderData: keepPreviousData };

/** What the page asks for: the same questions wherever they are asked, so that each goes out once. */
function useQuestions() {
  const trpc = useTRPC();
  const [chosen] = useHarness();
  const harness = chosen === null ? {} : { harness: chosen };
  const { from, to, span } = usePeriod();
  const range = { from, to, ...harness };
  return {
    trpc,
    range,
    span,
    status: trpc.status.queryOptions(range, keep),
    fleet: trpc.fleet.queryOptions(harness, keep),
  };
}

// Each part follows the answers it shows and no others: a number that moves draws its own part of the page again.
export function FleetPage() {
  const { status, fleet } = useQuestions();
  const heard = useQuery({ ...status, select: ({ has_events }) => has_events });
  const nobody = useQuery({ ...fleet, select: ({ agents }) => agents.length === 0 });
  const never = heard.data === false && nobody.data !== false;
  return (
    <>
      <PageHeader title="Fleet">
        {!never && (
          <>
            <HarnessFilter />
            <RangePicker />
          </>
        )}
      </PageHeader>
      {never ? (
        <FirstEvent />
      ) : (
        <>
          <KeyNumbers />
          <Agents />
          <History />
        </>
      )}
    </>
  );
}

function KeyNumbers() {
  const status = useQuery(useQuestions().status);
  if (!status.isError || status.data !== undefined) return <FleetTiles status={status.data} />;
  return (
    <section className="panel mb-4">
      <ErrorState what="The key numbers" error={status.error} retry={() => status.refetch()} />
    </section>
  );
}

function History() {
  const { trpc, range, span, status } = useQuestions();
  const fine = { ...range, step: stepFor(span, PEAK_BUCKETS) };
  const peak = useQuery(trpc.series.queryOptions({ metric: "utilization_peak", ...fine }, keep));
  const p95 = useQuery(trpc.series.queryOptions({ metric: "utilization_p95", ...fine }, keep));
  const falls = useQuery(
    trpc.series.queryOptions(
      { metric: "boundaries", group_by: "type", ...range, step: stepFor(span, BAR_BUCKETS) },
      keep,
    ),
  );
  const thresholds = useQuery({
    ...status,
    select: ({ thresholds, threshold_origin }) => ({ thresholds, threshold_origin }),
  });
  const reclaimed = useQuery({ ...status, select: ({ totals }) => totals.reclaimed_tokens });
  return (
    <div className="mt-4 grid gap-4 xl:grid-cols-[1.6fr_1fr]">
      <UtilizationPanel
        peak={peak.data}
        p95={p95.data}
        status={thresholds.data}
        failed={peak.isError || p95.isError}
      />
      <FallsPanel series={falls.data} reclaimed={reclaimed.data} failed={falls.isError} />
    </div>
  );
}

function Agents() {
  const [harness] = useHarness();
  const query = useQuery(useQuestions().fleet);
  if (query.data === undefined) {
    if (!query.isError) return <FleetRowsSkeleton />;
    return (
      <section className="panel">
        <ErrorState what="The fleet" error={query.error} retry={() => query.refetch()} />
      </section>
    );
  }
  if (query.data.agents.length === 0) return <NothingLive harness={harness} />;
  return (
    <>
      <p className="sr-only" aria-live="polite">
        {plural(query.data.agents.length + query.data.more, "live agent")}
      </p>
      <FleetRows view={query.data} />
    </>
  );
}

/** There were events, but no agent is at work now. */
function NothingLive({ harness }: { harness: string | null }) {
  const trpc = useTRPC();
  const { from, to, span } = usePeriod();
  const filter = harness === null ? {} : { harness };
  const latest = useQuery(trpc.sessions.list.queryOptions({ from, to, limit: 1, ...filter }));
  const last = latest.data?.items[0];
  return (
    <section
      className="panel flex flex-col items-center gap-1.5 px-6 py-10 text-center"
      data-testid="nothing-live"
    >
      <p className="font-medium">No agent is at work{harness === null ? "" : ` under ${harness}`}</p>
      <p className="text-[13px] text-muted">
        {last === undefined ? (
          `Nothing was heard in ${span >= 48 * 3_600_000 ? "these days" : "this range"}; a longer range may show more.`
        ) : (
          <>
            Last heard <Ago at={last.last_at} />, after {exact(last.turns)} turns.
          </>
        )}{" "}
        Rows appear here with the next turn.
      </p>
      <Link href="/sessions" className="mt-1 text-[13px] text-accent underline underline-offset-2">
        See recorded sessions
      </Link>
    </section>
  );
}
