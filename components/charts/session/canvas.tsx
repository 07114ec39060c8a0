/** @jsxImportSource #jsx */
"use client";

import type { AgentView } from "@plimsoll/protocol/api";
import { type PointerEvent, type ReactNode, useMemo, useRef, useState } from "react";
import type { TurnSpan } from "../../turn-span.ts";
import type { compositionRows } from "../composition-parts.ts";
import { AlertCard, useAlertCard } from "./alert-card.tsx";
import { LANE_PX } from "./alert-spans.tsx";
import { AxisFrame } from "./axis-frame.tsx";
import { Composition } from "./composition.tsx";
import { CursorLine, CursorTooltip, TurnSlider } from "./cursor-mark.tsx";
import { FallCard } from "./fall-card.tsx";
import { markerTop } from "./labels.ts";
import { type Lane, Lanes } from "./lanes.tsx";
import type { LineChange, StoodLines } from "./lines-over-time.ts";
import { ChangeTooltip, MarkerTooltip } from "./marker-tooltips.tsx";
import { SawOverlay } from "./overlay.tsx";
import { Overview } from "./overview.tsx";
import type { PlacedSpans } from "./place-alert-spans.ts";
import type { PlacedAgents } from "./place-other-agents.ts";
import { type Domain, linearScales, type PlotArea, valueAt } from "./scales.ts";
import type { Axis, ForecastLine, LinkedPoint, Saw, SawMarker } from "./shape.ts";
import type { TurnCursor } from "./turn-cursor.ts";
import { useWidth } from "./use-width.ts";
import { pointNear } from "./zoom.ts";

/** Height of the saw-tooth with its axis, without the rows of alerts above it. */
export const SAW_PX = 320;
const TOP_PX = 26;
const BOTTOM_PX = 24;
const RIGHT_PX = 14;
const AXIS_PX = 48;
/** With fewer turns there is nothing to zoom into. */
const LEAST_TO_ZOOM = 30;

export interface CanvasProps {
  agent: AgentView;
  harness: string;
  axis: Axis;
  /** What is in view. */
  saw: Saw;
  domain: Domain;
  top: number;
  /** All turns, for the overview. */
  whole: { saw: Saw; domain: Domain; top: number };
  placed: Pick<PlacedAgents, "before" | "after">;
  lanes: readonly Lane[];
  composition: ReturnType<typeof compositionRows>;
  next: ForecastLine | null;
  stood: StoodLines;
  /** Whether the last turn that is drawn is the newest. */
  isLatest: boolean;
  linkedTurn: LinkedPoint | undefined;
  alerts: PlacedSpans;
  /** What to show about an alert that is pointed at or has the focus. */
  alertCard: (id: string) => ReactNode;
  cursor: TurnCursor;
  zoom: TurnSpan | null;
  onZoom: (zoom: TurnSpan | null) => void;
  /** Id of the boundary whose card is open. */
  fall: string | null;
  onFall: (id: string | null) => void;
  /** Opens a turn, by its key, in the log. */
  onTurn: (key: string) => void;
  onAgent: (id: string) => void;
}

/** The saw-tooth, what fills the window, the lanes of other agents and the overview, on one axis with one cursor. */
export function SawCanvas(props: CanvasProps) {
  const [box, width] = useWidth<HTMLDivElement>();
  return (
    <div ref={box} style={{ minHeight: SAW_PX }}>
      {width > 0 && <Drawings {...props} width={width} />}
    </div>
  );
}

function Drawings(props: CanvasProps & { width: number }) {
  const { agent, axis, saw, domain, top, whole, lanes, composition, stood, alerts, cursor, zoom, width } =
    props;
  const area = useMemo(
    (): PlotArea => ({
      x: AXIS_PX,
      y: TOP_PX + alerts.lanes * LANE_PX,
      width: Math.max(1, width - AXIS_PX - RIGHT_PX),
      height: SAW_PX - TOP_PX - BOTTOM_PX,
    }),
    [width, alerts.lanes],
  );
  const [from, to] = domain;
  const scales = useMemo(() => linearScales(area, [from, to], top), [area, from, to, top]);
  const [shown, setShown] = useState<{ marker: SawMarker; x: number; y: number } | null>(null);
  const [change, setChange] = useState<{ change: LineChange; x: number; y: number } | null>(null);
  const alert = useAlertCard();
  const root = useRef<HTMLDivElement>(null);
  const opened = saw.markers.find(({ boundary }) => boundary.id === props.fall);
  const isCovered = shown !== null || change !== null || alert.shown !== null || opened !== undefined;
  const thresholds = useMemo(
    () => agent.thresholds.filter(({ tokens }) => tokens <= top),
    [agent.thresholds, top],
  );
  const windowEnd =
    agent.window_tokens !== null &&
    agent.window_tokens <= top &&
    !thresholds.some(({ tokens }) => tokens === agent.window_tokens)
      ? agent.window_tokens
      : undefined;

  function follow(event: PointerEvent<HTMLElement>) {
    if (event.pointerType === "touch" && event.type === "pointermove") return;
    const px = event.clientX - event.currentTarget.getBoundingClientRect().left;
    const inPlot = px >= area.x - 6 && px <= area.x + area.width + RIGHT_PX;
    const here = inPlot ? pointNear(saw.points, valueAt(area, domain, px)) : undefined;
    cursor.move(here?.point.number, "chart");
  }
  return (
    <div
      ref={root}
      role="presentation"
      className="relative"
      onPointerMove={follow}
      onPointerDown={follow}
      onPointerLeave={() => cursor.move(undefined, "chart")}
    >
      <svg
        width={width}
        height={SAW_PX + alerts.lanes * LANE_PX}
        role="presentation"
        className="block"
        data-testid="saw"
      >
        <AxisFrame scales={scales} domain={domain} axis={axis} points={saw.points} top={top} />
        <TurnSlider
          scales={scales}
          cursor={cursor}
          points={saw.points}
          label={`Turns of ${agent.name}`}
          onTurn={props.onTurn}
        />
        <SawOverlay
          scales={scales}
          saw={saw}
          placed={props.placed}
          next={props.next}
          thresholds={thresholds}
          generation={agent.policy_generation}
          stood={stood}
          top={top}
          line={agent.line?.threshold}
          windowEnd={windowEnd}
          isLatest={props.isLatest}
          linkedTurn={props.linkedTurn}
          alerts={alerts.spans}
          onShowAlert={alert.show}
          onHideAlert={alert.hide}
          opened={props.fall}
          onOpen={(id) => {
            setShown(null);
            props.onFall(id);
          }}
          onShow={setShown}
          onShowChange={setChange}
        />
        <CursorLine scales={scales} cursor={cursor} points={saw.points} dot />
      </svg>
      {/* What replaces the tooltip of a turn: a mark, a changed threshold, an alert, or a card. */}
      {!isCovered && <CursorTooltip scales={scales} cursor={cursor} points={saw.points} />}
      {shown !== null && opened === undefined && <MarkerTooltip {...shown} />}
      {change !== null && <ChangeTooltip {...change} />}
      {alert.shown !== null && alerts.spans.some(({ span }) => span.id === alert.shown?.id) && (
        <AlertCard shown={alert.shown} card={alert}>
          {props.alertCard(alert.shown.id)}
        </AlertCard>
      )}
      {opened !== undefined && (
        <FallCard
          key={opened.boundary.id}
          marker={opened}
          harness={props.harness}
          model={agent.model}
          place={{ x: scales.x(opened.x), y: markerTop(scales, opened) }}
          onTurn={props.onTurn}
          onClose={() => {
            props.onFall(null);
            root.current
              ?.querySelector<SVGGElement>(`[data-boundary="${CSS.escape(opened.boundary.id)}"]`)
              ?.focus();
          }}
        />
      )}
      {composition.rows.length > 0 && (
        <Composition
          points={saw.points}
          rows={composition.rows}
          parts={composition.parts}
          domain={domain}
          area={area}
          width={width}
          cursor={cursor}
        />
      )}
      {lanes.length > 0 && (
        <Lanes
          lanes={lanes}
          domain={domain}
          area={area}
          width={width}
          cursor={cursor}
          points={saw.points}
          onAgent={props.onAgent}
        />
      )}
      {whole.saw.points.length >= LEAST_TO_ZOOM && (
        <Overview
          saw={whole.saw}
          domain={whole.domain}
          top={whole.top}
          area={area}
          zoom={zoom}
          onZoom={props.onZoom}
        />
      )}
    </div>
  );
}
