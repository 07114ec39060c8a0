"use client";

import type { AgentView, BoundaryView, SessionChart, TurnView, WindowView } from "@plimsoll/protocol";
import dynamic from "next/dynamic";
import { type ReactNode, useMemo } from "react";
import { useMinute, useZone } from "../../clock.tsx";
import { exact, fullTime, percent, plural, rangeText } from "../../format.ts";
import { Button } from "../../ui/button.tsx";
import { Skeleton } from "../../ui/states.tsx";
import { boundaryName, forecastReason } from "../../words.ts";
import { BoundaryGlyph } from "../boundary-glyph.tsx";
import { BOUNDARY_ORDER } from "../boundary-looks.ts";
import { ChartFrame, DataTable, NoData, Swatch } from "../chart-frame.tsx";
import { SeverityBar } from "./alert-spans.tsx";
import { domainOf } from "./axis-domain.ts";
import type { ChartPart } from "./chart-around.ts";
import { highestOf, linesOverTime } from "./lines-over-time.ts";
import { otherAgentPath } from "./other-agent-path.ts";
import { type AlertSpan, placeAlertSpans, SEVERITY_ORDER } from "./place-alert-spans.ts";
import { placeOtherAgents } from "./place-other-agents.ts";
import { type Axis, forecastLine, linkedPoint, type Saw, shapeSaw, topOf } from "./shape.ts";

const SawTooth = dynamic(() => import("./chart.tsx"), {
  ssr: false,
  loading: () => <Skeleton className="h-full" />,
});

interface Props {
  agent: AgentView;
  chart: SessionChart | undefined;
  boundaries: BoundaryView[];
  windows: WindowView[];
  /** True if the session has ended, so that no forecast is shown. */
  ended: boolean;
  axis: Axis;
  onAxis: (axis: Axis) => void;
  /** The turn that a link opens. */
  linkedTurn?: TurnView | undefined;
  /** The turns that the chart is about; all of them without it. */
  part?: Pick<ChartPart, "from" | "to" | "isLatest"> | undefined;
  /** Another control, such as one for the part. */
  control?: ReactNode;
  /** Alerts of the agent, and of its session as a whole. */
  alerts?: readonly AlertSpan[];
  /** What to show about an alert that is pointed at or has the focus. */
  alertCard?: (id: string) => ReactNode;
}

const NO_ALERTS: readonly AlertSpan[] = [];

/** Context tokens by turn across windows, with every boundary and its reason. */
export function SawPanel({
  agent,
  chart,
  boundaries,
  windows,
  ended,
  axis,
  onAxis,
  linkedTurn,
  part,
  control,
  alerts = NO_ALERTS,
  alertCard = () => null,
}: Props) {
  const shaped = useMemo(() => {
    const own = chart?.agents.find(({ agent_id }) => agent_id === agent.id);
    if (chart === undefined) return undefined;
    const saw = shapeSaw(
      own?.points ?? [],
      boundaries.filter(({ agent_id }) => agent_id === agent.id),
      axis,
    );
    const siblings = chart.agents.filter(({ agent_id }) => agent_id !== agent.id);
    const placed = placeOtherAgents(
      siblings.map(({ points }) => points),
      saw.points,
      axis,
    );
    const others = siblings.map(({ agent_id: id, agent: name, points }, index) => ({
      id,
      name,
      points: otherAgentPath(
        points,
        boundaries.filter(({ agent_id }) => agent_id === id),
        placed.agents[index]!,
        axis,
      ),
    }));
    // Fewer points than turns: the server downsampled them.
    const downsampled = own !== undefined && own.points.length < own.turns ? own : undefined;
    return { saw, placed, others, downsampled, steps: own?.lines ?? [] };
  }, [chart, agent.id, boundaries, axis]);
  const stood = useMemo(
    () => shaped && linesOverTime(shaped.steps, agent, shaped.saw, axis),
    [shaped, agent, axis],
  );
  const line = agent.line?.tokens ?? null;
  const hasForecast = !ended && part?.isLatest !== false;
  const next =
    shaped === undefined || !hasForecast ? null : forecastLine(shaped.saw, agent.forecast, line, axis);
  const top =
    shaped === undefined
      ? 1
      : topOf(
          shaped.saw,
          shaped.others.map(({ points }) => points),
          Math.max(line ?? 0, highestOf(stood, agent.line?.threshold)) || null,
        );
  const domain = shaped && domainOf(shaped.saw, shaped.placed, next, axis);
  const spans = domain && placeAlertSpans(alerts, shaped.saw, axis, domain);
  const kinds = BOUNDARY_ORDER.filter((type) =>
    shaped?.saw.markers.some(({ boundary }) => boundary.type === type),
  );
  const nothing = shaped?.saw.points.length === 0;
  const beyond = nothing ? [] : agent.thresholds.filter(({ tokens }) => tokens > top);
  return (
    <ChartFrame
      title={`Context tokens of ${agent.name}`}
      summary={summaryOf({ agent, saw: shaped?.saw, windows, ended, linkedTurn, part, alerts })}
      legend={
        <>
          <Swatch colour="var(--water)">{agent.name}</Swatch>
          {shaped !== undefined && shaped.others.length > 0 && (
            <Swatch colour="var(--faint)" line="solid">
              other agents
            </Swatch>
          )}
          {kinds.map((type) => (
            <span key={type} className="inline-flex items-center gap-1 whitespace-nowrap">
              <BoundaryGlyph type={type} /> {boundaryName(type)}
            </span>
          ))}
          {SEVERITY_ORDER.filter((one) => spans?.spans.some(({ span }) => span.severity === one)).map(
            (severity) => (
              <span key={severity} className="inline-flex items-center gap-1.5 whitespace-nowrap">
                <SeverityBar severity={severity} /> {severity} alert
              </span>
            ),
          )}
          {spans !== undefined && spans.hidden > 0 && (
            <span className="text-faint">{plural(spans.hidden, "more alert")} not drawn</span>
          )}
          {part !== undefined && (
            <span className="text-faint">
              turns {exact(part.from)} to {exact(part.to)} of {exact(agent.turns)}
            </span>
          )}
          {axis === "time" && shaped !== undefined && <Span saw={shaped.saw} />}
          {stood !== undefined && stood.changes.length > 0 && (
            <span className="inline-flex items-center gap-1 whitespace-nowrap">
              <svg aria-hidden viewBox="-6 -6 12 12" className="size-3">
                <circle r={4} fill="none" stroke="currentColor" strokeWidth={1.6} />
                <circle r={1.3} fill="currentColor" />
              </svg>
              thresholds changed
            </span>
          )}
          {beyond.length > 0 && (
            <span className="text-faint">
              off the chart: {beyond.map(({ name, label }) => `${name} ${label}`).join(", ")}
            </span>
          )}
          {shaped?.downsampled !== undefined && (
            <span className="text-faint">
              showing {exact(shaped.downsampled.points.length)} of {exact(shaped.downsampled.turns)} turns,
              peaks kept
            </span>
          )}
        </>
      }
      controls={
        <div className="flex flex-wrap items-center gap-1.5">
          {control}
          <fieldset className="flex rounded-[7px] border border-rule p-px">
            <legend className="sr-only">Horizontal axis</legend>
            {(["turns", "time"] as const).map((value) => (
              <Button
                key={value}
                size="small"
                look="ghost"
                aria-pressed={axis === value}
                onClick={() => onAxis(value)}
                className="h-6 pointer-coarse:h-9 aria-pressed:bg-track aria-pressed:text-ink"
              >
                {value === "turns" ? "Turns" : "Time"}
              </Button>
            ))}
          </fieldset>
        </div>
      }
      height={320}
      chart={
        shaped === undefined ? (
          <Skeleton className="h-full" />
        ) : nothing ? (
          <NoData>No turn with a token count yet</NoData>
        ) : (
          <SawTooth
            saw={shaped.saw}
            others={shaped.others}
            placed={shaped.placed}
            next={next}
            agent={agent}
            axis={axis}
            top={top}
            stood={stood!}
            isLatest={part?.isLatest !== false}
            linkedTurn={linkedTurn && linkedPoint(linkedTurn, axis)}
            domain={domain!}
            alerts={spans!}
            alertCard={alertCard}
          />
        )
      }
      table={<WindowTable windows={windows} />}
    />
  );
}

/** The first and last turn with their days, because the axis names a day only at midnight. */
function Span({ saw: { points } }: { saw: Saw }) {
  const now = useMinute();
  const zone = useZone();
  const [first, last] = [points[0], points.at(-1)];
  if (first === undefined || last === undefined) return null;
  return <span className="text-faint">{rangeText(first.x, last.x, now, zone)}</span>;
}

function summaryOf({
  agent,
  saw,
  windows,
  ended,
  linkedTurn,
  part,
  alerts,
}: Pick<Props, "agent" | "windows" | "ended" | "linkedTurn" | "part"> & {
  saw: Saw | undefined;
  alerts: readonly AlertSpan[];
}): string {
  if (saw === undefined) return "";
  const last = saw.points.at(-1);
  const peak = agent.peak;
  return [
    `${agent.name}: ${plural(agent.turns, "turn")} in ${plural(Math.max(windows.length, 1), "window")}.`,
    part !== undefined
      ? `The chart shows turns ${exact(part.from)} to ${exact(part.to)}.`
      : last === undefined
        ? ""
        : `Currently ${exact(last.y)} tokens.`,
    peak === null
      ? ""
      : `Peak ${exact(peak.tokens)}${peak.utilization === null ? "" : `, ${percent(peak.utilization)} of the window`}.`,
    agent.line === null ? "No known line." : `Line (${agent.line.threshold}) at ${exact(agent.line.tokens)}.`,
    `${plural(saw.markers.length, "boundary", "boundaries")}.`,
    linkedTurn === undefined ? "" : `The link opens turn ${exact(linkedTurn.number)}.`,
    alerts.length === 0 ? "" : `${plural(alerts.length, "alert")}.`,
    ended ? "The session has ended." : forecastReason(agent.forecast),
  ]
    .filter(Boolean)
    .join(" ");
}

function WindowTable({ windows }: { windows: readonly WindowView[] }) {
  const tokens = (value: number | null) => (value === null ? "" : exact(value));
  return (
    <DataTable
      head={["Window", "Started", "Turns", "First", "Last", "Peak", "Peak utilization", "Size"]}
      rows={windows.map((window) => [
        String(window.index),
        fullTime(Date.parse(window.first_at)),
        exact(window.turns),
        tokens(window.first_tokens),
        tokens(window.last_tokens),
        tokens(window.peak_tokens),
        window.peak_utilization === null ? "" : percent(window.peak_utilization),
        window.window_tokens === null ? "unknown" : exact(window.window_tokens),
      ])}
    />
  );
}
