"use client";

import type { AgentView } from "@plimsoll/protocol";
import { type ReactNode, useState } from "react";
import { CartesianGrid, ComposedChart, Line, ResponsiveContainer, Tooltip, XAxis, YAxis } from "recharts";
import { axisTime, compact, exact, fullTime, percent } from "../../format.ts";
import { boundaryText } from "../../words.ts";
import { tooltipBox } from "../chart-frame.tsx";
import { levelTicks, timeTicks, wholeTicks } from "../ticks.ts";
import { AlertCard, useAlertCard } from "./alert-card.tsx";
import { LANE_PX } from "./alert-spans.tsx";
import type { LineChange, StoodLines } from "./lines-over-time.ts";
import { SawOverlay } from "./overlay.tsx";
import type { PlacedSpans } from "./place-alert-spans.ts";
import type { PlacedAgents } from "./place-other-agents.ts";
import type { Axis, ForecastLine, LinkedPoint, OtherAgent, Saw, SawMarker, SawPoint } from "./shape.ts";

export interface SawToothProps {
  saw: Saw;
  others: OtherAgent[];
  placed: PlacedAgents;
  next: ForecastLine | null;
  agent: AgentView;
  axis: Axis;
  top: number;
  stood: StoodLines;
  /** Whether the last turn that is drawn is the newest. */
  isLatest: boolean;
  linkedTurn: LinkedPoint | undefined;
  /** Both ends of the horizontal axis. */
  domain: readonly [from: number, to: number];
  alerts: PlacedSpans;
  /** What to show about an alert that is pointed at or has the focus. */
  alertCard: (id: string) => ReactNode;
}

const MARGIN = { top: 26, right: 14, bottom: 0, left: 0 };
const MOST_TICKS = 8;
/** Width of one label on the horizontal axis, with padding. */
const TICK_PX = 72;

export default function SawTooth(props: SawToothProps) {
  const { saw, others, placed, next, agent, axis, top, stood, linkedTurn, alerts, alertCard } = props;
  const [shown, setShown] = useState<{ marker: SawMarker; x: number; y: number } | null>(null);
  const [change, setChange] = useState<{ change: LineChange; x: number; y: number } | null>(null);
  const [most, setMost] = useState(MOST_TICKS);
  const alert = useAlertCard();
  const [from, to] = props.domain;
  // Ticks cover only the turns of the selected agent.
  const ticks =
    axis === "turns"
      ? wholeTicks(saw.points[0]?.x ?? from, saw.points.at(-1)?.x ?? to, most)
      : timeTicks(from, to, most);

  return (
    <div className="relative h-full">
      <ResponsiveContainer
        width="100%"
        height="100%"
        // Ask for as many ticks as fit: Recharts drops the excess unevenly.
        onResize={(width) => setMost(Math.min(MOST_TICKS, Math.max(2, Math.floor(width / TICK_PX))))}
      >
        <ComposedChart data={saw.points} margin={{ ...MARGIN, top: MARGIN.top + alerts.lanes * LANE_PX }}>
          <CartesianGrid vertical={false} horizontalValues={levelTicks(top)} stroke="var(--rule)" />
          <XAxis
            type="number"
            dataKey="x"
            domain={[from, to]}
            allowDataOverflow
            ticks={ticks}
            tickFormatter={(at: number) => (axis === "turns" ? `turn ${exact(at)}` : axisTime(at, to - from))}
            axisLine={{ stroke: "var(--edge)" }}
            tickLine={false}
            height={24}
            interval="preserveStartEnd"
          />
          <YAxis
            type="number"
            domain={[0, top]}
            allowDataOverflow
            ticks={levelTicks(top)}
            tickFormatter={compact}
            axisLine={false}
            tickLine={false}
            width={48}
            interval={0}
          />
          <SawOverlay
            saw={saw}
            others={others}
            placed={placed}
            next={next}
            thresholds={agent.thresholds.filter(({ tokens }) => tokens <= top)}
            generation={agent.policy_generation}
            stood={stood}
            top={top}
            line={agent.line?.threshold}
            isLatest={props.isLatest}
            linkedTurn={linkedTurn}
            alerts={alerts.spans}
            onShowAlert={alert.show}
            onHideAlert={alert.hide}
            onShow={setShown}
            onShowChange={setChange}
          />
          <Tooltip
            isAnimationActive={false}
            cursor={{ stroke: "var(--edge)" }}
            content={({ active, payload }) => {
              const here = payload?.[0]?.payload as SawPoint | undefined;
              // The tooltip of a marker replaces the tooltip of the turn below it.
              if (!active || here === undefined || shown !== null || change !== null || alert.shown !== null)
                return null;
              return <TurnTooltip {...here} />;
            }}
          />
          <Line
            dataKey="y"
            stroke="none"
            // The overlay draws the dot of a single turn; hide the one Recharts adds.
            dot={saw.points.length === 1 ? { r: 0 } : false}
            activeDot={{ r: 3.5, fill: "var(--water)" }}
            isAnimationActive={false}
          />
        </ComposedChart>
      </ResponsiveContainer>
      {shown !== null && <MarkerTooltip {...shown} />}
      {change !== null && <ChangeTooltip {...change} />}
      {alert.shown !== null && alerts.spans.some(({ span }) => span.id === alert.shown?.id) && (
        <AlertCard shown={alert.shown} card={alert}>
          {alertCard(alert.shown.id)}
        </AlertCard>
      )}
    </div>
  );
}

function TurnTooltip({ point, y }: SawPoint) {
  return (
    <div className={tooltipBox}>
      <div className="font-medium">
        turn {exact(point.number)} · {exact(y)} tokens
      </div>
      <div className="text-faint">{fullTime(Date.parse(point.at))}</div>
      <div>
        window {point.window}
        {point.window_tokens === null ? ", size unknown" : `, ${percent(y / point.window_tokens)} full`}
        {point.estimated && ", estimated"}
      </div>
    </div>
  );
}

function ChangeTooltip({ change, x, y }: { change: LineChange; x: number; y: number }) {
  return (
    <div
      className={`${tooltipBox} pointer-events-none absolute z-10 max-w-72`}
      style={{ left: `clamp(0px, ${x - 120}px, calc(100% - 288px))`, top: y + 14 }}
    >
      <div className="font-medium">Thresholds changed</div>
      {change.texts.map((text) => (
        <div key={text}>{text}</div>
      ))}
      <div className="text-faint">{fullTime(Date.parse(change.at))}</div>
    </div>
  );
}

function MarkerTooltip({ marker, x, y }: { marker: SawMarker; x: number; y: number }) {
  const { boundary } = marker;
  return (
    <div
      className={`${tooltipBox} pointer-events-none absolute z-10 max-w-64`}
      style={{ left: `clamp(0px, ${x - 110}px, calc(100% - 256px))`, top: y + 14 }}
    >
      <div className="font-medium">{boundaryText(boundary)}</div>
      {boundary.reclaimed_tokens !== null && <div>reclaimed {exact(boundary.reclaimed_tokens)} tokens</div>}
      {boundary.inferred && <div>inferred from turns, not reported</div>}
      <div className="text-faint">{fullTime(Date.parse(boundary.at))}</div>
    </div>
  );
}
