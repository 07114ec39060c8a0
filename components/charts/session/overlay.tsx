/** @jsxImportSource #jsx */
"use client";

import type { AppliedThreshold } from "@plimsoll/protocol/api";
import { useId, useMemo } from "react";
import { exact } from "../../format.ts";
import { textWidth } from "../text-width.ts";
import { THRESHOLD_COLOURS } from "../threshold-lines.ts";
import { AlertSpans, type ShownSpan } from "./alert-spans.tsx";
import { Markers } from "./boundary-markers.tsx";
import { ChartText } from "./chart-text.tsx";
import { linkedText, linkedX, type PlacedText, sawLabels, windowEndText } from "./labels.ts";
import { LineChanges, StoodPaths } from "./line-changes.tsx";
import { type LineChange, type StoodLines, thresholdSource } from "./lines-over-time.ts";
import type { PlacedSpan } from "./place-alert-spans.ts";
import type { PlacedAgents } from "./place-other-agents.ts";
import type { Scales } from "./scales.ts";
import type { ForecastLine, LinkedPoint, Point, Saw, SawMarker } from "./shape.ts";

const round = (value: number) => value.toFixed(1);
/** A line through points of data, as the `d` of an SVG path. */
export const svgPath = (points: readonly Point[], { x, y }: Scales) =>
  points
    .map((point, index) => `${index === 0 ? "M" : "L"}${round(x(point.x))} ${round(y(point.y))}`)
    .join("");

interface Props {
  scales: Scales;
  saw: Saw;
  placed: Pick<PlacedAgents, "before" | "after">;
  next: ForecastLine | null;
  thresholds: readonly AppliedThreshold[];
  /** Of the policy in force; 0 without one. */
  generation: number;
  stood: StoodLines;
  /** Highest level that is drawn, in tokens. */
  top: number;
  line: AppliedThreshold["name"] | undefined;
  /** Where the window ends, in tokens, if that is in view and no threshold. */
  windowEnd: number | undefined;
  /** Whether the last turn that is drawn is the newest. */
  isLatest: boolean;
  linkedTurn: LinkedPoint | undefined;
  alerts: readonly PlacedSpan[];
  onShowAlert: (shown: ShownSpan) => void;
  onHideAlert: (to: EventTarget | null) => void;
  /** Id of the boundary whose card is open. */
  opened: string | null;
  onOpen: (id: string) => void;
  onShow: (shown: { marker: SawMarker; x: number; y: number } | null) => void;
  onShowChange: (shown: { change: LineChange; x: number; y: number } | null) => void;
}

/** Everything the saw-tooth chart draws between its axes. */
export function SawOverlay(props: Props) {
  const { scales, saw, placed, next, thresholds, generation, stood, top, line, windowEnd, linkedTurn } =
    props;
  const labels = useMemo(
    () => sawLabels(scales, { saw, thresholds, stood, line, windowEnd, linkedTurn }),
    [scales, saw, thresholds, stood, line, windowEnd, linkedTurn],
  );
  const clip = useId();
  const { area } = scales;
  return (
    <>
      <clipPath id={clip}>
        <rect x={area.x} y={0} width={Math.max(0, area.width + 8)} height={area.y + area.height + 1} />
      </clipPath>
      <OtherAgentsOnly scales={scales} saw={saw} placed={placed} />
      {linkedTurn !== undefined && (
        <LinkedTurnMark scales={scales} point={linkedTurn} place={labels.linkedTurn} />
      )}
      <g clipPath={`url(#${clip})`} pointerEvents="none">
        <Curves scales={scales} saw={saw} next={next} isLatest={props.isLatest} />
        <StoodPaths scales={scales} stood={stood} line={line} top={top} />
        {windowEnd !== undefined && (
          <line
            x1={area.x}
            x2={area.x + area.width}
            y1={scales.y(windowEnd)}
            y2={scales.y(windowEnd)}
            stroke="var(--ink)"
            strokeWidth={2}
            data-testid="saw-window-end"
          />
        )}
      </g>
      {windowEnd !== undefined && labels.windowEnd !== undefined && (
        <ChartText place={labels.windowEnd} colour="var(--ink)">
          {windowEndText(windowEnd)}
        </ChartText>
      )}
      {thresholds.map((threshold, index) => {
        const place = labels.thresholds[index];
        return (
          place !== undefined && (
            <ChartText
              key={threshold.name}
              place={place}
              colour={LINE_INK[threshold.name]}
              title={thresholdSource(threshold, generation)}
            >
              {threshold.name}
            </ChartText>
          )
        );
      })}
      <Markers
        scales={scales}
        markers={saw.markers}
        labels={labels.markers}
        opened={props.opened}
        onShow={props.onShow}
        onOpen={props.onOpen}
      />
      <LineChanges
        scales={scales}
        changes={changesInView(stood.changes, scales)}
        top={top}
        onShow={props.onShowChange}
      />
      <AlertSpans
        scales={scales}
        spans={props.alerts}
        onShow={props.onShowAlert}
        onHide={props.onHideAlert}
      />
    </>
  );
}

const changesInView = (changes: readonly LineChange[], { x, area }: Scales) =>
  changes.filter((change) => x(change.x) >= area.x && x(change.x) <= area.x + area.width);

/** A line at the turn that a link opens, with a ring around its level. */
function LinkedTurnMark({
  scales,
  point,
  place,
}: {
  scales: Scales;
  point: LinkedPoint;
  place: PlacedText | undefined;
}) {
  const { y, area } = scales;
  const at = linkedX(scales, point);
  return (
    <g data-testid="saw-linked-turn" data-turn={point.number} pointerEvents="none">
      <line x1={at} x2={at} y1={area.y} y2={area.y + area.height} stroke="var(--ink)" strokeWidth={1.2} />
      {point.y !== null && (
        <circle cx={at} cy={y(point.y)} r={7} fill="none" stroke="var(--ink)" strokeWidth={1.6} />
      )}
      {place !== undefined && (
        <ChartText place={place} colour="var(--ink)">
          {linkedText(point)}
        </ChartText>
      )}
    </g>
  );
}

/** Shades the parts of the axis where only other agents had turns. */
function OtherAgentsOnly({ scales, saw, placed }: { scales: Scales; saw: Saw; placed: Props["placed"] }) {
  const { x, area } = scales;
  const bottom = area.y + area.height;
  const first = saw.points[0];
  const last = saw.points.at(-1);
  if (first === undefined || last === undefined) return null;
  const parts = [
    { span: placed.before, anchor: "start", turn: first, words: ["before turn", "before"] },
    { span: placed.after, anchor: "end", turn: last, words: ["after turn", "after"] },
  ] as const;
  return parts.map(({ span, anchor, turn, words: [long, short] }) => {
    if (span === null) return null;
    const left = Math.max(area.x, x(span.from));
    const right = Math.min(area.x + area.width, x(span.to));
    if (left >= right) return null;
    // Half of the neighboring tick label may extend into this part.
    const room = right - left - 26;
    const words = [`${long} ${exact(turn.point.number)}`, short].find((text) => textWidth(text) <= room);
    return (
      <g key={long} data-testid={`saw-${short}`}>
        <rect
          x={left}
          y={area.y}
          width={Math.max(0, right - left)}
          height={area.height}
          fill="var(--track)"
          opacity={0.5}
        />
        {words !== undefined && (
          <text
            x={anchor === "start" ? left : right}
            y={bottom + 16}
            textAnchor={anchor}
            className="chart-text"
          >
            {words}
          </text>
        )}
      </g>
    );
  });
}

function Curves({
  scales,
  saw,
  next,
  isLatest,
}: {
  scales: Scales;
  saw: Saw;
  next: ForecastLine | null;
  isLatest: boolean;
}) {
  const { x, y, area } = scales;
  const bottom = area.y + area.height;
  const first = saw.path[0];
  const last = saw.points.at(-1);
  const line = svgPath(saw.path, scales);
  const pathEnd = saw.path.at(-1);
  const hollow = saw.points.filter(({ point }) => point.estimated);
  return (
    <g>
      {saw.windows.map(({ x: at, index }) => (
        <line
          key={index}
          x1={x(at)}
          x2={x(at)}
          y1={area.y}
          y2={bottom}
          stroke="var(--edge)"
          strokeWidth={1}
          strokeDasharray="1 3"
        />
      ))}
      {first !== undefined && pathEnd !== undefined && (
        <path
          d={`${line}L${round(x(pathEnd.x))} ${bottom}L${round(x(first.x))} ${bottom}Z`}
          fill="var(--water)"
          opacity={0.13}
        />
      )}
      <path
        d={line}
        fill="none"
        stroke="var(--water)"
        strokeWidth={2}
        strokeLinejoin="round"
        data-testid="saw-path"
      />
      {next !== null && (
        <path
          d={svgPath([next.from, next.to], scales)}
          stroke="var(--water)"
          strokeWidth={1.8}
          strokeDasharray="2 4"
          strokeLinecap="round"
          data-testid="saw-forecast"
        />
      )}
      {hollow.length <= 300 &&
        hollow.map(({ x: at, y: level, point }) => (
          <circle
            key={point.number}
            cx={x(at)}
            cy={y(level)}
            r={2.6}
            fill="var(--panel)"
            stroke="var(--water)"
            strokeWidth={1.3}
          />
        ))}
      {isLatest && last !== undefined && (
        <circle
          cx={x(last.x)}
          cy={y(last.y)}
          r={4}
          fill={last.point.estimated ? "var(--panel)" : "var(--water)"}
          stroke="var(--water)"
          strokeWidth={2}
        />
      )}
    </g>
  );
}

const LINE_INK: Readonly<Record<AppliedThreshold["name"], string>> = {
  ...THRESHOLD_COLOURS,
  warning: "var(--warn-ink)",
};
