/** @jsxImportSource #jsx */
"use client";

import type { AgentView, BoundaryView, SessionChart, TurnView, WindowView } from "@plimsoll/protocol/api";
import { type ReactNode, useMemo, useState } from "react";
import { useMinute, useZone } from "../../clock.tsx";
import { exact, percent, plural, rangeText } from "../../format.ts";
import { boundaryWord } from "../../glossary.ts";
import type { TurnSpan } from "../../turn-span.ts";
import { Button } from "../../ui/button.tsx";
import { Skeleton } from "../../ui/states.tsx";
import { Term } from "../../ui/term.tsx";
import { boundaryName, forecastReason } from "../../words.ts";
import { BoundaryGlyph } from "../boundary-glyph.tsx";
import { BOUNDARY_ORDER } from "../boundary-looks.ts";
import { ChartFrame, NoData, Swatch } from "../chart-frame.tsx";
import { compositionRows } from "../composition-parts.ts";
import { SeverityBar } from "./alert-spans.tsx";
import { domainOf } from "./axis-domain.ts";
import { SAW_PX, SawCanvas } from "./canvas.tsx";
import type { ChartPart } from "./chart-around.ts";
import { thresholdText } from "./labels.ts";
import { ThresholdSwatch } from "./line-changes.tsx";
import { highestOf, linesOverTime, thresholdSource } from "./lines-over-time.ts";
import { placeAgents } from "./place-agents.ts";
import { type AlertSpan, placeAlertSpans, SEVERITY_ORDER } from "./place-alert-spans.ts";
import { type Axis, forecastLine, linkedPoint, type Saw, shapeSaw, topOf } from "./shape.ts";
import { SawTables } from "./tables.tsx";
import { TurnCursor } from "./turn-cursor.ts";
import { sawWithin, zoomDomain } from "./zoom.ts";

/** What a reader chooses to see of a chart. */
export interface ChartChoice {
  axis: Axis;
  zoom: TurnSpan | null;
  /** Id of the boundary whose card is open. */
  fall: string | null;
}

interface Props {
  agent: AgentView;
  harness: string;
  chart: SessionChart | undefined;
  boundaries: BoundaryView[];
  /** Boundaries of the agent that are not among `boundaries`. */
  unlisted: number;
  windows: WindowView[];
  /** True if the session has ended, so that no forecast is shown. */
  ended: boolean;
  choice: ChartChoice;
  onChoice: (choice: Partial<ChartChoice>) => void;
  /** Opens a turn, by its key, in the log. */
  onTurn: (key: string) => void;
  onAgent: (id: string) => void;
  /** Shared with the log, if there is one. */
  cursor?: TurnCursor | undefined;
  /** The turn that a link opens. */
  linkedTurn?: TurnView | undefined;
  /** The turns around the linked one, all of them, where the chart as a whole is thinned. */
  part?: ChartPart | undefined;
  /** Another control, such as one for the part. */
  control?: ReactNode;
  /** Alerts of the agent, and of its session as a whole. */
  alerts: readonly AlertSpan[];
  /** What to show about an alert that is pointed at or has the focus. */
  alertCard: (id: string) => ReactNode;
}

/** Context tokens by turn across windows, with every boundary and its reason. */
export function SawPanel({
  agent,
  harness,
  chart,
  boundaries,
  unlisted,
  windows,
  ended,
  choice: { axis, zoom, fall },
  onChoice,
  onTurn,
  onAgent,
  cursor: shared,
  linkedTurn,
  part,
  control,
  alerts,
  alertCard,
}: Props) {
  const [own] = useState(() => new TurnCursor());
  const cursor = shared ?? own;
  const all = useMemo(() => shapeOf(agent.id, chart, boundaries, axis), [agent.id, chart, boundaries, axis]);
  const near = useMemo(
    () => (part === undefined ? undefined : shapeOf(agent.id, part.chart, part.boundaries, axis)),
    [agent.id, part, axis],
  );
  const shaped = near ?? all;
  const drawn = part?.agent ?? agent;
  const stood = useMemo(
    () => shaped && linesOverTime(shaped.steps, drawn, shaped.saw, axis),
    [shaped, drawn, axis],
  );
  const line = agent.line?.tokens ?? null;
  const zoomed =
    shaped === undefined || zoom === null || near ? undefined : zoomDomain(shaped.saw.points, zoom, axis);
  const lastDrawn =
    zoomed === undefined ? (part?.isLatest ?? true) : zoomed[1] >= (shaped?.saw.points.at(-1)?.x ?? 0);
  const next = useMemo(
    () => (shaped === undefined || ended ? null : forecastLine(shaped.saw, agent.forecast, line, axis)),
    [shaped, ended, agent.forecast, line, axis],
  );
  const [zoomFrom, zoomTo] = zoomed ?? [];
  const view = useMemo(() => {
    if (shaped === undefined || stood === undefined) return undefined;
    const isWhole = zoomFrom === undefined || zoomTo === undefined;
    const forecast = isWhole && lastDrawn ? next : null;
    const domain = isWhole
      ? domainOf(shaped.saw, shaped.placed, forecast, axis)
      : ([zoomFrom, zoomTo] as const);
    const saw = isWhole ? shaped.saw : sawWithin(shaped.saw, domain);
    const reach = Math.max(line ?? 0, highestOf(stood, agent.line?.threshold)) || null;
    return {
      saw,
      domain,
      forecast,
      top: topOf(saw, reach, drawn.window_tokens),
      spans: placeAlertSpans(part?.alerts ?? alerts, shaped.saw, axis, domain),
    };
  }, [
    shaped,
    stood,
    zoomFrom,
    zoomTo,
    lastDrawn,
    next,
    axis,
    line,
    agent.line?.threshold,
    drawn.window_tokens,
    part?.alerts,
    alerts,
  ]);
  const whole = useMemo(
    () =>
      all && {
        saw: all.saw,
        domain: domainOf(all.saw, all.placed, null, axis),
        top: topOf(all.saw, null, null),
      },
    [all, axis],
  );
  const linked = useMemo(() => linkedTurn && linkedPoint(linkedTurn, axis), [linkedTurn, axis]);
  const inView = view?.saw;
  const kinds = BOUNDARY_ORDER.filter((type) =>
    inView?.markers.some(({ boundary }) => boundary.type === type),
  );
  const nothing = shaped?.saw.points.length === 0;
  const beyond =
    nothing || view === undefined
      ? []
      : [
          ...drawn.thresholds.map(({ name, label, tokens }) => ({ words: `${name} ${label}`, tokens })),
          ...(drawn.window_tokens === null
            ? []
            : [{ words: `window ends at ${exact(drawn.window_tokens)}`, tokens: drawn.window_tokens }]),
        ].filter(({ tokens }) => tokens > view.top);
  const span = near !== undefined && part !== undefined ? part : zoomed === undefined ? undefined : zoom!;
  return (
    <ChartFrame
      title={`Context tokens of ${agent.name}`}
      summary={summaryOf({ agent, saw: inView, windows, ended, linkedTurn, part: span, alerts })}
      grows
      legend={
        <>
          <Swatch colour="var(--water)">{agent.name}</Swatch>
          {view !== undefined &&
            linesInLegend(drawn, view.top).map(({ name, words, source }) => (
              <span key={name} title={source} className="inline-flex items-center gap-1.5 whitespace-nowrap">
                <ThresholdSwatch name={name} /> {words}
              </span>
            ))}
          {kinds.map((type) => (
            <span key={type} className="inline-flex items-center gap-1 whitespace-nowrap">
              <BoundaryGlyph type={type} /> <Term word={boundaryWord(type)}>{boundaryName(type)}</Term>
            </span>
          ))}
          {SEVERITY_ORDER.filter((one) => view?.spans.spans.some(({ span }) => span.severity === one)).map(
            (severity) => (
              <span key={severity} className="inline-flex items-center gap-1.5 whitespace-nowrap">
                <SeverityBar severity={severity} /> {severity} alert
              </span>
            ),
          )}
          {view !== undefined && view.spans.hidden > 0 && (
            <span className="text-faint">{plural(view.spans.hidden, "more alert")} not drawn</span>
          )}
          {span !== undefined && (
            <span className="text-faint">
              turns {exact(span.from)} to {exact(span.to)} of {exact(agent.turns)}
            </span>
          )}
          {axis === "time" && inView !== undefined && <Span saw={inView} />}
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
            <span className="text-faint">off the chart: {beyond.map(({ words }) => words).join(", ")}</span>
          )}
          {unlisted > 0 && (
            <span className="text-faint">
              marks of the earliest {plural(unlisted, "boundary", "boundaries")} left out
            </span>
          )}
          {shaped?.downsampled !== undefined && near === undefined && (
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
          {zoomed !== undefined && (
            <Button size="small" look="ghost" onClick={() => onChoice({ zoom: null })}>
              Show all turns
            </Button>
          )}
          <fieldset className="flex rounded-[7px] border border-rule p-px">
            <legend className="sr-only">Horizontal axis</legend>
            {(["turns", "time"] as const).map((value) => (
              <Button
                key={value}
                size="segment"
                look="ghost"
                aria-pressed={axis === value}
                onClick={() => onChoice({ axis: value })}
                className="aria-pressed:bg-track aria-pressed:text-ink"
              >
                {value === "turns" ? "Turns" : "Time"}
              </Button>
            ))}
          </fieldset>
        </div>
      }
      height={SAW_PX}
      chart={
        view === undefined || shaped === undefined || whole === undefined ? (
          <Skeleton className="h-80" />
        ) : nothing ? (
          <NoData>No turn with a token count yet</NoData>
        ) : (
          <SawCanvas
            agent={drawn}
            harness={harness}
            axis={axis}
            saw={view.saw}
            domain={view.domain}
            top={view.top}
            whole={whole}
            placed={shaped.placed}
            lanes={shaped.lanes}
            composition={shaped.composition}
            next={view.forecast}
            stood={stood!}
            isLatest={lastDrawn}
            linkedTurn={linked}
            alerts={view.spans}
            alertCard={alertCard}
            cursor={cursor}
            zoom={span ?? null}
            onZoom={(next) => onChoice({ zoom: next })}
            fall={fall}
            onFall={(next) => onChoice({ fall: next })}
            onTurn={onTurn}
            onAgent={onAgent}
          />
        )
      }
      table={() => <SawTables saw={inView} windows={windows} lanes={shaped?.lanes ?? []} />}
    />
  );
}

/** The thresholds in view, with their values: the chart only has room for their names. */
function linesInLegend({ thresholds, policy_generation }: AgentView, top: number) {
  return thresholds
    .filter(({ tokens }) => tokens <= top)
    .map((threshold) => ({
      name: threshold.name,
      words: thresholdText(threshold),
      source: thresholdSource(threshold, policy_generation),
    }));
}

/** Everything about a chart that its zoom does not change; undefined until the chart is loaded. */
function shapeOf(
  agentId: string,
  chart: SessionChart | undefined,
  boundaries: readonly BoundaryView[],
  axis: Axis,
) {
  if (chart === undefined) return undefined;
  const own = chart.agents.find(({ agent_id }) => agent_id === agentId);
  const saw = shapeSaw(
    own?.points ?? [],
    boundaries.filter(({ agent_id }) => agent_id === agentId),
    axis,
  );
  return {
    saw,
    ...placeAgents(
      chart.agents.filter(({ agent_id }) => agent_id !== agentId),
      boundaries,
      saw,
      axis,
    ),
    composition: compositionRows(own?.points ?? []),
    // Fewer points than turns: the server thinned them.
    downsampled: own !== undefined && own.points.length < own.turns ? own : undefined,
    steps: own?.lines ?? [],
  };
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
}: Pick<Props, "agent" | "windows" | "ended" | "linkedTurn"> & {
  saw: Saw | undefined;
  part: TurnSpan | undefined;
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
