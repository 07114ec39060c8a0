"use client";

import { keepPreviousData, useQuery } from "@tanstack/react-query";
import Link from "next/link";
import { FallsPanel } from "../charts/falls-panel.tsx";
import { UtilizationPanel } from "../charts/utilization-panel.tsx";
import { Ago } from "../clock.tsx";
import { exact, plural } from "../format.ts";
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

export function FleetPage() {
  const trpc = useTRPC();
  const [chosen] = useHarness();
  const harness = chosen === null ? {} : { harness: chosen };
  const { from, to, span } = usePeriod();
  const keep = { placeholderData: keepPreviousData };
  const range = { from, to, ...harness };
  const fine = { ...range, step: stepFor(span, PEAK_BUCKETS) };
  const status = useQuery(trpc.status.queryOptions(range, keep));
  const fleet = useQuery(trpc.fleet.queryOptions(harness, keep));
  const peak = useQuery(trpc.series.queryOptions({ metric: "utilization_peak", ...fine }, keep));
  const p95 = useQuery(trpc.series.queryOptions({ metric: "utilization_p95", ...fine }, keep));
  const falls = useQuery(
    trpc.series.queryOptions(
      { metric: "boundaries", group_by: "type", ...range, step: stepFor(span, BAR_BUCKETS) },
      keep,
    ),
  );

  const never = status.data?.has_events === false && (fleet.data?.agents.length ?? 0) === 0;
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
          {status.isError && status.data === undefined ? (
            <section className="panel mb-4">
              <ErrorState what="The key numbers" error={status.error} retry={() => status.refetch()} />
            </section>
          ) : (
            <FleetTiles status={status.data} />
          )}
          <Agents query={fleet} harness={chosen} />
          <div className="mt-4 grid gap-4 xl:grid-cols-[1.6fr_1fr]">
            <UtilizationPanel peak={peak.data} p95={p95.data} status={status.data} />
            <FallsPanel series={falls.data} />
          </div>
        </>
      )}
    </>
  );
}

type FleetQuery = ReturnType<typeof useQuery<import("@plimsoll/protocol").FleetView, unknown>>;

function Agents({
  query,
  harness,
}: {
  query: Pick<FleetQuery, "data" | "isError" | "error" | "refetch">;
  harness: string | null;
}) {
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
