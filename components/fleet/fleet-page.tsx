/** @jsxImportSource #jsx */
"use client";

import type { MachineList } from "@plimsoll/protocol/api";
import { DEMO_HARNESSES } from "@plimsoll/protocol/pure";
import { useQuery } from "@tanstack/react-query";
import dynamic from "next/dynamic";
import { useCallback, useContext } from "react";
import { BoundariesPanel } from "../charts/boundaries-panel.tsx";
import { isSameData, isSameSeries } from "../charts/same-picture.ts";
import { useDrawn } from "../charts/use-drawn.ts";
import { UtilizationPanel } from "../charts/utilization-panel.tsx";
import { Ago } from "../clock.tsx";
import { usePeopleNames } from "../people/use-people-names.ts";
import { placeInput } from "../place.ts";
import { Link } from "../projects/link.tsx";
import { useProjects } from "../projects/use-projects.ts";
import { stepFor } from "../range.ts";
import { HarnessFilter } from "../shell/harness-filter.tsx";
import { PageHeader } from "../shell/page-header.tsx";
import { PlaceFilters } from "../shell/place-filters.tsx";
import { RangePicker } from "../shell/range-picker.tsx";
import { useTRPC } from "../trpc.ts";
import { EmptyState, ErrorState } from "../ui/states.tsx";
import { useHarness, usePeriod, usePlace, useRange } from "../url.ts";
import { Backlog } from "./backlog.tsx";
import { stoppedAbout, suspectsAbout, unknownAbout } from "./dismissals.ts";
import { FleetRows, FleetRowsSkeleton } from "./fleet-table.tsx";
import { FleetTiles } from "./fleet-tiles.tsx";
import { NextLine } from "./next-line.tsx";
import { RefusalNotice } from "./refusal-notice.tsx";
import { useChartActions } from "./use-chart-actions.ts";
import { Dismissals, useDismissals } from "./use-dismissals.ts";
import { FleetQueries, keep, useChartRange, useFleetQueries, useRangeQueries } from "./use-fleet-queries.ts";
import { useLooked } from "./use-looked.ts";
import { useMarks } from "./use-marks.ts";
import { useSessionsHref } from "./use-sessions-href.ts";

// What most pages do not show is loaded where it is shown.
const SinceLooked = dynamic(() => import("./since-looked.tsx").then((part) => part.SinceLooked));
const Quotas = dynamic(() => import("./quotas.tsx").then((part) => part.Quotas));
const NoticePlaceholder = () => <div className="panel mb-3 h-[42px] border-warn" />;
const SuspectNotice = dynamic(() => import("./suspect-notice.tsx").then((part) => part.SuspectNotice), {
  ssr: false,
  loading: NoticePlaceholder,
});
const UnknownWindowsNotice = dynamic(
  () => import("./unknown-windows.tsx").then((part) => part.UnknownWindowsNotice),
  { ssr: false, loading: NoticePlaceholder },
);
const StoppedMachinesNotice = dynamic(
  () => import("./stopped-machines.tsx").then((part) => part.StoppedMachinesNotice),
  { ssr: false, loading: NoticePlaceholder },
);
const BeforeAfterLine = dynamic(() => import("./before-after.tsx").then((part) => part.BeforeAfterLine), {
  ssr: false,
});
const BreakdownPanel = dynamic(() => import("./breakdown-panel.tsx").then((part) => part.BreakdownPanel), {
  ssr: false,
});
const ToolsInWindows = dynamic(
  () => import("./tools-in-windows.tsx").then(({ ToolsInWindows }) => ToolsInWindows),
  { ssr: false },
);
const FirstEvent = dynamic(() => import("../setup/first-event.tsx").then(({ FirstEvent }) => FirstEvent));

const DemoSights = dynamic(
  () => import("../setup/demo-sight-list.tsx").then(({ DemoSights }) => DemoSights),
  {
    ssr: false,
  },
);

const PEAK_BUCKETS = 120;
const BAR_BUCKETS = 48;

// Each part subscribes only to the data it shows, so that an update renders one part.
/**
 * @param dismissed the notices that this browser dismissed, as its cookie has them
 * @param away since when its person was away, in epoch seconds
 */
export function FleetPage({ dismissed, away }: { dismissed: string | null; away: number | null }) {
  const queries = useRangeQueries();
  const { status, fleet } = queries;
  // Read in any case: a query of which nothing is read renders its component with each answer.
  const { data: hasEvents } = useQuery({ ...status, select: ({ has_events }) => has_events });
  const { data: fleetIsEmpty } = useQuery({ ...fleet, select: ({ agents }) => agents.length === 0 });
  const noEvents = hasEvents === false && fleetIsEmpty !== false;
  return (
    <FleetQueries value={queries}>
      <Dismissals value={useDismissals(dismissed)}>
        <PageHeader title="Fleet" chips={<Backlog />}>
          {!noEvents && (
            <>
              <HarnessFilter />
              <PlaceFilters />
              <RangePicker />
            </>
          )}
        </PageHeader>
        {noEvents ? (
          <NoEvents />
        ) : (
          <>
            <NextLine />
            <Limits />
            <Digest away={away} />
            <RefusalNotice />
            <Notices />
            <WhileDemoRuns />
            {/* Very wide screens show the numbers and the charts next to the agents. */}
            <div
              data-wide
              className="grid items-start gap-3 min-[1900px]:grid-cols-[minmax(0,1.5fr)_minmax(0,1fr)] min-[1900px]:gap-4"
            >
              <div className="min-w-0">
                <Agents />
              </div>
              <div className="grid min-w-0 gap-3">
                <CountsEverywhere />
                <KeyNumbers />
                <History />
              </div>
            </div>
          </>
        )}
      </Dismissals>
    </FleetQueries>
  );
}

/** Nothing where no quota is known. */
function Limits() {
  const query = useQuery(useFleetQueries().quota);
  if (query.data !== undefined) return query.data.quotas.length > 0 && <Quotas quotas={query.data.quotas} />;
  if (!query.isError) return null;
  return (
    <section className="panel mb-3">
      <ErrorState what="the quotas" error={query.error} retry={() => query.refetch()} className="py-5" />
    </section>
  );
}

/** Only somebody who was away needs its script. */
function Digest({ away }: { away: number | null }) {
  const { since, read } = useLooked(away ?? undefined);
  return since === undefined ? null : <SinceLooked since={since} onRead={read} />;
}

function NoEvents() {
  const { current } = useProjects();
  if (current === undefined || current.archived_at === null) return <FirstEvent />;
  return (
    <section className="panel">
      <EmptyState title="No events recorded">To send events to this project, unarchive it.</EmptyState>
    </section>
  );
}

/** Silence changes nothing, so no change tells of it. */
const MACHINES_EVERY_MS = 60_000;
const stoppedMachines = ({ machines }: MachineList) => machines.filter(({ stopped }) => stopped !== null);

function Notices() {
  const { trpc, range, status } = useFleetQueries();
  const suspects = useQuery({ ...status, select: ({ suspects }) => suspects }).data;
  const unknown = useQuery(trpc.windows.unknown.queryOptions(range, keep)).data;
  const stopped = useQuery({
    ...trpc.machines.list.queryOptions(undefined, { refetchInterval: MACHINES_EVERY_MS }),
    select: stoppedMachines,
  }).data;
  const { isDismissed } = useContext(Dismissals);
  return (
    <>
      {stopped !== undefined && stopped.length > 0 && !isDismissed(stoppedAbout(stopped)) && (
        <StoppedMachinesNotice stopped={stopped} />
      )}
      {suspects !== undefined && !isDismissed(suspectsAbout(suspects.sessions)) && (
        <SuspectNotice suspects={suspects} />
      )}
      {unknown !== undefined && !isDismissed(unknownAbout(unknown)) && (
        <UnknownWindowsNotice unknown={unknown} />
      )}
    </>
  );
}

/** Asks whether the demo runs only where one of its agents is live. */
function WhileDemoRuns() {
  const hasDemo = useQuery({
    ...useFleetQueries().fleet,
    select: ({ agents }) => agents.some(({ harness }) => DEMO_HARNESSES.includes(harness)),
  });
  return hasDemo.data === true && <DemoSights />;
}

/** Sums over time are kept by harness and model. */
function CountsEverywhere() {
  const [place] = usePlace();
  if (Object.keys(placeInput(place)).length === 0) return null;
  return (
    <p className="text-[13px] text-muted">
      The numbers and charts below count all people, machines and repositories. The list of agents is
      filtered.
    </p>
  );
}

function KeyNumbers() {
  const status = useQuery(useFleetQueries().status);
  if (!status.isError || status.data !== undefined) return <FleetTiles status={status.data} />;
  return (
    <section className="panel">
      <ErrorState what="the key numbers" error={status.error} retry={() => status.refetch()} />
    </section>
  );
}

function History() {
  const { trpc, range, span, status } = useFleetQueries();
  const known = useChartRange();
  const drawn = known ?? { range, span, since: null };
  const options = { ...keep, enabled: known !== undefined };
  const fine = { ...drawn.range, step: stepFor(drawn.span, PEAK_BUCKETS) };
  const peak = useQuery(trpc.series.queryOptions({ metric: "utilization_peak", ...fine }, options));
  const p95 = useQuery(trpc.series.queryOptions({ metric: "utilization_p95", ...fine }, options));
  const p50 = useQuery(trpc.series.queryOptions({ metric: "utilization_p50", ...fine }, options));
  const falls = useQuery(
    trpc.series.queryOptions(
      { metric: "boundaries", group_by: "type", ...drawn.range, step: stepFor(drawn.span, BAR_BUCKETS) },
      options,
    ),
  );
  const thresholds = useQuery({
    ...status,
    select: ({ thresholds, threshold_origin, threshold_steps }) => ({
      thresholds,
      threshold_origin,
      threshold_steps,
    }),
  });
  const reclaimed = useQuery({ ...status, select: ({ totals }) => totals.reclaimed_tokens });
  const highest = useQuery({ ...status, select: ({ utilization_now }) => utilization_now.highest });
  const [choice] = useRange();
  const { refetch: refetchPeak } = peak;
  const { refetch: refetchP95 } = p95;
  const { refetch: refetchP50 } = p50;
  const retryUtilization = useCallback(() => {
    void refetchPeak();
    void refetchP95();
    void refetchP50();
  }, [refetchPeak, refetchP95, refetchP50]);
  const hrefTo = useSessionsHref();
  const { utilization, boundaries } = useChartActions(hrefTo);
  const { shown: marks, chosen } = useMarks(drawn.range, known !== undefined);
  return (
    <div className="grid min-w-0 gap-3 min-[1280px]:max-[1900px]:grid-cols-[minmax(0,1.6fr)_minmax(0,1fr)]">
      <UtilizationPanel
        peak={useDrawn(peak.data, isSameSeries)}
        p95={useDrawn(p95.data, isSameSeries)}
        p50={useDrawn(p50.data, isSameSeries)}
        current={"last" in choice ? (highest.data ?? null) : null}
        status={useDrawn(thresholds.data, isSameData)}
        since={drawn.since}
        marks={marks}
        error={peak.error ?? p95.error}
        retry={retryUtilization}
        {...utilization}
      />
      <BoundariesPanel
        series={useDrawn(falls.data, isSameSeries)}
        reclaimed={reclaimed.data}
        since={drawn.since}
        marks={marks}
        error={falls.error}
        retry={falls.refetch}
        {...boundaries}
      />
      {chosen !== undefined && (
        <BeforeAfterLine group={chosen} range={drawn.range} onClose={() => marks.onChoose(null)} />
      )}
      <BreakdownPanel range={range} hrefTo={hrefTo} />
      <ToolsInWindows className="col-span-full" />
    </div>
  );
}

function Agents() {
  const query = useQuery(useFleetQueries().fleet);
  if (query.data === undefined) {
    if (!query.isError) return <FleetRowsSkeleton />;
    return (
      <section className="panel">
        <ErrorState what="the fleet" error={query.error} retry={() => query.refetch()} />
      </section>
    );
  }
  if (query.data.agents.length === 0) return <NoLiveAgents />;
  return <FleetRows view={query.data} />;
}

/** Shown when events were recorded but no agent is live. */
function NoLiveAgents() {
  const [harness] = useHarness();
  const [place] = usePlace();
  const people = usePeopleNames();
  const person = place.person === null ? null : (people.get(place.person) ?? "somebody");
  const chosen = [harness, person, place.machine, place.repository, place.branch].filter(
    (part) => part !== null,
  );
  const trpc = useTRPC();
  const { from, to } = usePeriod();
  const filter = { ...(harness === null ? {} : { harness }), ...placeInput(place) };
  const latest = useQuery(trpc.sessions.list.queryOptions({ from, to, limit: 1, ...filter }));
  const last = latest.data?.items[0];
  return (
    <section
      className="panel flex flex-col items-center gap-1.5 px-6 py-10 text-center"
      data-testid="nothing-live"
    >
      <p className="font-medium">No live agents{chosen.length === 0 ? "" : ` in ${chosen.join(", ")}`}</p>
      <p className="text-[13px] text-muted">
        {last !== undefined ? (
          <>
            The last turn arrived <Ago at={last.last_at} />.
          </>
        ) : (
          // Nothing is said about sessions until the server has answered.
          latest.data !== undefined && "No sessions in this range. Try a longer range."
        )}{" "}
        Agents appear here with their next turn.
      </p>
      <Link href="/sessions" className="mt-1 text-[13px] text-accent underline underline-offset-2">
        View recorded sessions
      </Link>
    </section>
  );
}
