"use client";

import type { AgentView, BoundaryView, SessionChart, WindowView } from "@plimsoll/protocol";
import dynamic from "next/dynamic";
import { useMemo } from "react";
import { useMinute, useZone } from "../../clock.tsx";
import { exact, fullTime, percent, plural, rangeText } from "../../format.ts";
import { Button } from "../../ui/button.tsx";
import { Skeleton } from "../../ui/states.tsx";
import { boundaryName, forecastReason } from "../../words.ts";
import { BoundaryGlyph } from "../boundary-glyph.tsx";
import { BOUNDARY_ORDER } from "../boundary-looks.ts";
import { ChartFrame, DataTable, NoData, Swatch } from "../chart-frame.tsx";
import { highestOf, linesOverTime } from "./lines-over-time.ts";
import { otherAgentPath } from "./other-agent-path.ts";
import { placeOtherAgents } from "./place-other-agents.ts";
import { type Axis, forecastLine, type Saw, shapeSaw, topOf } from "./shape.ts";

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
}

/** Context tokens by turn across windows, with every boundary and its reason. */
export function SawPanel({ agent, chart, boundaries, windows, ended, axis, onAxis }: Props) {
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
  const next = shaped === undefined || ended ? null : forecastLine(shaped.saw, agent.forecast, line, axis);
  const top =
    shaped === undefined
      ? 1
      : topOf(
          shaped.saw,
          shaped.others.map(({ points }) => points),
          Math.max(line ?? 0, highestOf(stood, agent.line?.threshold)) || null,
        );
  const kinds = BOUNDARY_ORDER.filter((type) =>
    shaped?.saw.markers.some(({ boundary }) => boundary.type === type),
  );
  const nothing = shaped?.saw.points.length === 0;
  const beyond = nothing ? [] : agent.thresholds.filter(({ tokens }) => tokens > top);
  return (
    <ChartFrame
      title={`Context tokens of ${agent.name}`}
      summary={summaryOf(agent, shaped?.saw, windows, ended)}
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

function summaryOf(
  agent: AgentView,
  saw: Saw | undefined,
  windows: readonly WindowView[],
  ended: boolean,
): string {
  if (saw === undefined) return "";
  const last = saw.points.at(-1);
  const peak = agent.peak;
  return [
    `${agent.name}: ${plural(agent.turns, "turn")} in ${plural(Math.max(windows.length, 1), "window")}.`,
    last === undefined ? "" : `Currently ${exact(last.y)} tokens.`,
    peak === null
      ? ""
      : `Peak ${exact(peak.tokens)}${peak.utilization === null ? "" : `, ${percent(peak.utilization)} of the window`}.`,
    agent.line === null ? "No known line." : `Line (${agent.line.threshold}) at ${exact(agent.line.tokens)}.`,
    `${plural(saw.markers.length, "boundary", "boundaries")}.`,
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
