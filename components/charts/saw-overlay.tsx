"use client";

import type { AppliedThreshold } from "@plimsoll/protocol";
import { type KeyboardEvent, useState } from "react";
import { usePlotArea, useXAxisScale, useYAxisScale } from "recharts";
import { compact } from "../format.ts";
import { shownLabels, textWidth } from "../labels.ts";
import { boundaryLabel, boundaryWords } from "../words.ts";
import { GlyphPath } from "./glyph.tsx";
import { kindOf } from "./kinds.ts";
import type { Continuation, Saw, SawMarker } from "./saw.ts";

/** The scales of the chart around: data to pixels. Undefined until the chart has measured itself. */
function useScales() {
  const x = useXAxisScale();
  const y = useYAxisScale();
  const area = usePlotArea();
  if (x === undefined || y === undefined || area === undefined) return undefined;
  return { x: (value: number) => x(value) ?? 0, y: (value: number) => y(value) ?? 0, area };
}

const round = (value: number) => value.toFixed(1);
const svgPath = (
  points: readonly { x: number; y: number }[],
  x: (v: number) => number,
  y: (v: number) => number,
) =>
  points
    .map((point, index) => `${index === 0 ? "M" : "L"}${round(x(point.x))} ${round(y(point.y))}`)
    .join("");

export function SawLines({
  saw,
  others,
  next,
}: {
  saw: Saw;
  others: readonly { id: string; points: { x: number; y: number }[] }[];
  next: Continuation | null;
}) {
  const scales = useScales();
  if (scales === undefined) return null;
  const { x, y, area } = scales;
  const bottom = area.y + area.height;
  const first = saw.path[0];
  const last = saw.points.at(-1);
  const line = svgPath(saw.path, x, y);
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
      {others.map(({ id, points }) => (
        <path key={id} d={svgPath(points, x, y)} fill="none" stroke="var(--faint)" strokeWidth={1.4} />
      ))}
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
          d={svgPath([next.from, next.to], x, y)}
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
      {last !== undefined && (
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

const THRESHOLD_LABEL_PX = 118;

const LINE_COLOURS: Readonly<Record<AppliedThreshold["name"], string>> = {
  warning: "var(--warn)",
  ceiling: "var(--line)",
  soft: "var(--soft)",
  hard: "var(--hard)",
  reserve: "var(--hard)",
};
const LINE_INK: Readonly<Record<AppliedThreshold["name"], string>> = {
  ...LINE_COLOURS,
  warning: "var(--warn-ink)",
};

type Scales = NonNullable<ReturnType<typeof useScales>>;

const MARKER_PX = 8;
const markerTop = ({ y, area }: Scales, { from, to }: SawMarker) =>
  Math.max(area.y + MARKER_PX, y(from ?? to ?? 0) - 10);

/** A plot narrower than this has no room for the tokens beside a threshold's share, px. */
const ROOMY_PX = 420;

function thresholdWords({ name, label, tokens }: AppliedThreshold, { area }: Scales): string {
  const told = area.width < ROOMY_PX || /^-?\d+$/.test(label) ? "" : ` · ${compact(tokens)}`;
  return `${name} ${label}${told}`;
}

interface LabelPlace {
  edge: "left" | "right";
  /** Baseline of the text, px. */
  y: number;
}

/** Where a threshold's label stands: above its line at the left, unless signs of boundaries stand there already. */
function labelPlace(scales: Scales, threshold: AppliedThreshold, markers: readonly SawMarker[]): LabelPlace {
  const { x, y, area } = scales;
  const line = y(threshold.tokens);
  const reach = textWidth(thresholdWords(threshold, scales)) + MARKER_PX + 6;
  const places: LabelPlace[] = [line - 5, line + 13].flatMap((at) => [
    { edge: "left", y: at },
    { edge: "right", y: at },
  ]);
  const free = places.find(({ edge, y: at }) =>
    markers.every((marker) => {
      const away = edge === "left" ? x(marker.x) - area.x : area.x + area.width - x(marker.x);
      return away > reach || Math.abs(markerTop(scales, marker) - (at - 4)) > MARKER_PX + 6;
    }),
  );
  return free ?? places[0]!;
}

export function ThresholdLines({
  thresholds,
  line,
  markers,
  top,
}: {
  thresholds: readonly AppliedThreshold[];
  line: AppliedThreshold["name"] | undefined;
  markers: readonly SawMarker[];
  top: number;
}) {
  const scales = useScales();
  if (scales === undefined) return null;
  const { y, area } = scales;
  const within = thresholds.filter(({ tokens }) => tokens <= top);
  const places = within.map((threshold) => labelPlace(scales, threshold, markers));
  const shown = shownLabels(
    within.map(({ name, tokens }) => ({ at: y(tokens), size: 13, rank: name === line ? 1 : 0 })),
    1,
  );
  return (
    <g>
      {within.map(({ name, tokens }, index) => (
        <g key={name}>
          <line
            x1={area.x}
            x2={area.x + area.width}
            y1={y(tokens)}
            y2={y(tokens)}
            stroke={LINE_COLOURS[name]}
            strokeWidth={name === line ? 1.8 : 1.4}
            strokeDasharray={name === "warning" || name === "soft" ? "5 4" : undefined}
          />
          {shown[index] && (
            <text
              x={places[index]!.edge === "left" ? area.x + 4 : area.x + area.width - 4}
              y={places[index]!.y}
              textAnchor={places[index]!.edge === "left" ? "start" : "end"}
              className="chart-text"
              style={{ fill: LINE_INK[name], paintOrder: "stroke", stroke: "var(--panel)", strokeWidth: 3 }}
            >
              {thresholdWords(within[index]!, scales)}
            </text>
          )}
        </g>
      ))}
    </g>
  );
}

/** Signs at every boundary. One tab stop for all of them; the arrow keys walk along. */
export function Markers({
  markers,
  thresholds,
  onShow,
}: {
  markers: readonly SawMarker[];
  /** A marker's text gives way to their labels. */
  thresholds: readonly AppliedThreshold[];
  onShow: (shown: { marker: SawMarker; x: number; y: number } | null) => void;
}) {
  const scales = useScales();
  const [active, setActive] = useState(0);
  if (scales === undefined) return null;
  const { x, area } = scales;
  const bottom = area.y + area.height;
  const stop = Math.min(active, markers.length - 1);
  const placed = markers.map((marker) => ({
    marker,
    px: x(marker.x),
    py: markerTop(scales, marker),
    label: boundaryLabel(marker.boundary),
  }));
  const shown = shownLabels(
    placed.map(({ px, label, marker }) => ({
      at: px,
      size: textWidth(label),
      rank: marker.boundary.reclaimed_tokens ?? 0,
    })),
  );

  const labels = thresholds.map((threshold) => labelPlace(scales, threshold, markers));

  function hidden(centre: number, half: number, at: number): boolean {
    if (at < area.y - 12) return true;
    const reaches = {
      left: centre - half < area.x + THRESHOLD_LABEL_PX,
      right: centre + half > area.x + area.width - THRESHOLD_LABEL_PX,
    };
    return labels.some((label) => reaches[label.edge] && Math.abs(label.y - at) < 13);
  }

  function walk(event: KeyboardEvent<SVGGElement>) {
    const step = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
    if (step === undefined) return;
    event.preventDefault();
    event.stopPropagation();
    const next = Math.min(markers.length - 1, Math.max(0, stop + step));
    setActive(next);
    event.currentTarget.querySelectorAll<SVGGElement>("[data-marker]")[next]?.focus();
  }

  return (
    // biome-ignore lint/a11y/noStaticElementInteractions: the group only moves focus among the markers inside
    <g onKeyDown={walk} data-testid="saw-markers">
      {placed.map(({ marker, px, py, label }, index) => {
        const { colour } = kindOf(marker.boundary.type);
        const half = textWidth(label) / 2;
        const centre = Math.min(Math.max(px, area.x + half), area.x + area.width - half);
        const show = () => onShow({ marker, x: px, y: py });
        return (
          <g key={marker.boundary.id}>
            <line
              x1={px}
              x2={px}
              y1={py + 5}
              y2={bottom}
              stroke={colour}
              strokeWidth={1.3}
              strokeDasharray={marker.boundary.type === "subtick" ? undefined : "3 3"}
              opacity={0.85}
            />
            {/* biome-ignore lint/a11y/noInteractiveElementToNoninteractiveRole: a picture with a name; focus only reveals its words */}
            <g
              role="img"
              aria-label={boundaryWords(marker.boundary)}
              data-marker={marker.boundary.type}
              tabIndex={index === stop ? 0 : -1}
              transform={`translate(${round(px)} ${round(py)})`}
              onFocus={() => {
                setActive(index);
                show();
              }}
              onBlur={() => onShow(null)}
              onMouseEnter={show}
              onMouseLeave={() => onShow(null)}
            >
              <rect x={-10} y={-10} width={20} height={20} fill="transparent" />
              <GlyphPath type={marker.boundary.type} />
            </g>
            {shown[index] && !hidden(centre, half, py - 9) && (
              <text
                x={centre}
                y={py - 9}
                textAnchor="middle"
                className="chart-text"
                aria-hidden
                style={{ fill: "var(--muted)", paintOrder: "stroke", stroke: "var(--panel)", strokeWidth: 3 }}
              >
                {label}
              </text>
            )}
          </g>
        );
      })}
    </g>
  );
}
