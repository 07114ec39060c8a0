/** @jsxImportSource #jsx */
"use client";

import type { SessionChart, SessionDetail } from "@plimsoll/protocol/api";
import { useQueries } from "@tanstack/react-query";
import { ArrowLeftRight } from "lucide-react";
import dynamic from "next/dynamic";
import { parseAsString, parseAsStringLiteral, useQueryStates } from "nuqs";
import { useMemo } from "react";
import { ChartFrame, DataTable, NoData, Swatch } from "../charts/chart-frame.tsx";
import { exact, percent, plural } from "../format.ts";
import { Link } from "../projects/link.tsx";
import { codeOf } from "../query-client.ts";
import { PageHeader } from "../shell/page-header.tsx";
import { useTRPC } from "../trpc.ts";
import { Button } from "../ui/button.tsx";
import { Name } from "../ui/name.tsx";
import { ScrollRegion } from "../ui/scroll-region.tsx";
import { EmptyState, ErrorState, Skeleton } from "../ui/states.tsx";
import { titleOf } from "../words.ts";
import { COMPARE_LOOKS } from "./compare-looks.ts";
import { compareRows } from "./compare-rows.ts";
import { compareLine } from "./compare-series.ts";

const CompareChart = dynamic(() => import("./compare-chart.tsx"), {
  ssr: false,
  loading: () => <Skeleton className="h-full" />,
});

const HEIGHT = 360;
const AXES = ["turns", "time"] as const;
const UNITS = ["tokens", "share"] as const;
const replace = { history: "replace" } as const;

const params = {
  a: parseAsString.withDefault("").withOptions(replace),
  b: parseAsString.withDefault("").withOptions(replace),
  axis: parseAsStringLiteral(AXES).withDefault("turns").withOptions(replace),
  unit: parseAsStringLiteral(UNITS).withDefault("tokens").withOptions(replace),
};

const CRUMB = (
  <Link href="/sessions" className="hover:text-ink hover:underline">
    Sessions
  </Link>
);

/** Two sessions on one axis, and their facts side by side. */
export function ComparePage() {
  const trpc = useTRPC();
  const [{ a, b }, set] = useQueryStates(params);
  const ids = [a, b];
  const details = useQueries({ queries: ids.map((id) => trpc.sessions.get.queryOptions({ id })) });
  const charts = useQueries({ queries: ids.map((id) => trpc.sessions.chart.queryOptions({ id })) });
  const failed = [...details, ...charts].find((query) => query.data === undefined && query.isError);
  const [first, second] = details.map(({ data }) => data);

  if (failed !== undefined) {
    const absent = ["NOT_FOUND", "BAD_REQUEST"].includes(codeOf(failed.error) ?? "");
    return (
      <>
        <PageHeader title="Compare sessions" crumb={CRUMB} />
        <section className="panel">
          {absent ? (
            <EmptyState title="One of these sessions does not exist">
              <p className="mb-3">
                It was deleted, or the link is incomplete. Select two sessions in the list and choose Compare.
              </p>
              <Link href="/sessions" className="text-accent underline underline-offset-2">
                View all sessions
              </Link>
            </EmptyState>
          ) : (
            <ErrorState what="the sessions" error={failed.error} retry={() => failed.refetch()} />
          )}
        </section>
      </>
    );
  }
  return (
    <>
      <PageHeader title="Compare sessions" crumb={CRUMB}>
        <Button onClick={() => void set({ a: b, b: a })}>
          <ArrowLeftRight aria-hidden /> Swap
        </Button>
      </PageHeader>
      {first === undefined || second === undefined ? (
        <div data-wide className="panel p-4">
          <Skeleton className="h-[440px]" />
        </div>
      ) : (
        // Very wide screens show the table next to the chart.
        <div
          data-wide
          className="grid items-start gap-4 min-[1900px]:grid-cols-[minmax(0,2fr)_minmax(0,1fr)]"
        >
          <Levels details={[first, second]} charts={charts.map(({ data }) => data)} />
          <Facts a={first} b={second} />
        </div>
      )}
    </>
  );
}

interface LevelsProps {
  details: readonly SessionDetail[];
  charts: readonly (SessionChart | undefined)[];
}

function Levels({ details, charts }: LevelsProps) {
  const [{ axis, unit }, set] = useQueryStates(params);
  const lines = useMemo(
    () =>
      details.flatMap((detail, index) => {
        const chart = charts[index];
        return chart === undefined ? [] : [compareLine({ detail, chart }, axis, unit)];
      }),
    [details, charts, axis, unit],
  );
  const isLoaded = lines.length === details.length;
  const format = unit === "tokens" ? exact : percent;
  const summary = details
    .map(({ session }, index) => {
      const points = lines[index]?.points ?? [];
      const peak = Math.max(0, ...points.map(({ y }) => y));
      return `${titleOf(session)}: ${plural(points.length, "turn")} drawn, highest ${format(peak)}, ${plural(lines[index]?.falls.length ?? 0, "fall")}.`;
    })
    .join(" ");
  return (
    <ChartFrame
      title={unit === "tokens" ? "Context tokens" : "Share of the context window"}
      hint="The level of each session's main agent. Both lines begin at the left."
      summary={summary}
      height={HEIGHT}
      legend={details.map(({ session }, index) => (
        <Swatch
          key={COMPARE_LOOKS[index]!.name}
          colour={COMPARE_LOOKS[index]!.colour}
          line={index === 0 ? "solid" : "dashed"}
        >
          <span className="max-w-[60vw] truncate sm:max-w-96" title={titleOf(session)}>
            {COMPARE_LOOKS[index]!.name}: <Name>{titleOf(session)}</Name>
          </span>
        </Swatch>
      ))}
      controls={
        <div className="flex gap-1.5">
          <Choice
            name="Axis"
            value={axis}
            options={{ turns: "Turns", time: "Time" }}
            onChange={(next) => void set({ axis: next })}
          />
          <Choice
            name="Unit"
            value={unit}
            options={{ tokens: "Tokens", share: "Share" }}
            onChange={(next) => void set({ unit: next })}
          />
        </div>
      }
      chart={
        !isLoaded ? (
          <Skeleton className="h-full" />
        ) : lines.every(({ points }) => points.length === 0) ? (
          <NoData>
            {unit === "share" ? "No window size is known. Choose Tokens." : "No turn has a token count."}
          </NoData>
        ) : (
          <CompareChart lines={lines} axis={axis} unit={unit} />
        )
      }
      table={() => (
        <DataTable
          head={[axis === "turns" ? "Turn" : "Since the start, s", "Session", "Level"]}
          rows={lines
            .flatMap(({ points }, index) =>
              points.map(({ x, y }) => ({ x, y, name: COMPARE_LOOKS[index]!.name })),
            )
            .sort((one, other) => one.x - other.x)
            .map(({ x, y, name }) => [exact(axis === "turns" ? x : Math.round(x / 1_000)), name, format(y)])}
        />
      )}
    />
  );
}

interface ChoiceProps<T extends string> {
  name: string;
  value: T;
  options: Readonly<Record<T, string>>;
  onChange: (value: T) => void;
}

function Choice<T extends string>({ name, value, options, onChange }: ChoiceProps<T>) {
  return (
    <fieldset className="flex overflow-hidden rounded-[7px] border border-rule">
      <legend className="sr-only">{name}</legend>
      {(Object.keys(options) as T[]).map((option) => (
        <button
          key={option}
          type="button"
          aria-pressed={option === value}
          onClick={() => onChange(option)}
          className="h-7 px-2 text-xs text-muted outline-offset-[-2px] hover:text-ink aria-pressed:bg-track aria-pressed:font-medium aria-pressed:text-ink pointer-coarse:h-9"
        >
          {options[option]}
        </button>
      ))}
    </fieldset>
  );
}

/** A phone shows long names on two lines, and has room for both sessions and their difference. */
const FACT =
  "py-1.5 pr-3 text-right max-sm:max-w-24 max-sm:wrap-break-word sm:max-w-28 sm:truncate sm:pr-4 lg:max-w-56";

function Facts({ a, b }: { a: SessionDetail; b: SessionDetail }) {
  return (
    <section aria-label="Facts" className="panel min-w-0">
      <ScrollRegion label="Facts of both sessions" className="overflow-x-auto px-4 py-3">
        <table className="w-full text-[13px]">
          <thead>
            <tr className="text-left align-bottom text-xs text-faint">
              <th scope="col" className="py-1.5 pr-4 font-medium">
                <span className="sr-only">Fact</span>
              </th>
              {[a, b].map(({ session }, index) => (
                <th
                  key={COMPARE_LOOKS[index]!.name}
                  scope="col"
                  className="max-w-28 py-1.5 pr-3 text-right font-medium sm:pr-4 lg:max-w-56"
                >
                  <Link
                    href={`/sessions/${session.id}`}
                    className="block truncate text-ink hover:underline"
                    title={titleOf(session)}
                  >
                    {COMPARE_LOOKS[index]!.name}
                    {/* The legend above names both sessions, and a phone has no room for it twice. */}
                    <span className="max-sm:sr-only">
                      : <Name>{titleOf(session)}</Name>
                    </span>
                  </Link>
                </th>
              ))}
              <th scope="col" className="py-1.5 text-right font-medium">
                B − A
              </th>
            </tr>
          </thead>
          <tbody>
            {compareRows(a.session, b.session).map(({ name, a: first, b: second, change }) => (
              <tr key={name} className="border-t">
                <th
                  scope="row"
                  className="py-1.5 pr-3 text-left font-normal text-muted sm:pr-4 sm:whitespace-nowrap"
                >
                  {name}
                </th>
                <td className={FACT} title={first}>
                  {first}
                </td>
                <td className={FACT} title={second}>
                  {second}
                </td>
                <td className="py-1.5 text-right whitespace-nowrap text-muted">{change}</td>
              </tr>
            ))}
          </tbody>
        </table>
      </ScrollRegion>
    </section>
  );
}
