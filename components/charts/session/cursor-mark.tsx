/** @jsxImportSource #jsx */
"use client";

import type { KeyboardEvent } from "react";
import { exact, fullTime, percent } from "../../format.ts";
import { tooltipBox } from "../chart-frame.tsx";
import type { Scales } from "./scales.ts";
import type { SawPoint } from "./shape.ts";
import { type TurnCursor, useCursorPlace } from "./turn-cursor.ts";
import { pointOfTurn } from "./zoom.ts";

interface Props {
  scales: Scales;
  cursor: TurnCursor;
  /** Turns of the selected agent that are in view. */
  points: readonly SawPoint[];
}

/** The point under the cursor, if it is in view. */
function useCursorPoint({ cursor, points }: Omit<Props, "scales">): SawPoint | undefined {
  const place = useCursorPlace(cursor);
  if (place === undefined || place.turn > (points.at(-1)?.point.number ?? 0)) return undefined;
  return pointOfTurn(points, place.turn);
}

/** A line at the turn under the cursor, in any of the drawings that share an axis. */
export function CursorLine({
  scales: { x, y, area },
  cursor,
  points,
  dot = false,
}: Props & { dot?: boolean }) {
  const here = useCursorPoint({ cursor, points });
  if (here === undefined) return null;
  const px = x(here.x);
  return (
    <g pointerEvents="none" aria-hidden data-testid="cursor-line" data-turn={here.point.number}>
      <line x1={px} x2={px} y1={area.y} y2={area.y + area.height} stroke="var(--muted)" strokeWidth={1} />
      {dot && (
        <circle cx={px} cy={y(here.y)} r={4} fill="var(--water)" stroke="var(--panel)" strokeWidth={1.5} />
      )}
    </g>
  );
}

/** What the turn under the cursor says. */
export function CursorTooltip({ scales: { x, area }, cursor, points }: Props) {
  const here = useCursorPoint({ cursor, points });
  if (here === undefined) return null;
  const px = x(here.x);
  const isRight = px > area.x + area.width / 2;
  return (
    <div
      data-testid="turn-tooltip"
      className={`${tooltipBox} pointer-events-none absolute z-10 max-w-60`}
      style={{
        top: area.y + 6,
        ...(isRight ? { right: `calc(100% - ${px - 12}px)` } : { left: px + 12 }),
      }}
    >
      <div className="font-medium">{turnWords(here)}</div>
      <div className="text-faint">{fullTime(Date.parse(here.point.at))}</div>
      <div>
        window {here.point.window}
        {here.point.window_tokens === null
          ? ", size unknown"
          : `, ${percent(here.y / here.point.window_tokens)} full`}
        {here.point.estimated && ", estimated"}
      </div>
    </div>
  );
}

const turnWords = ({ point, y }: SawPoint) => `turn ${exact(point.number)} · ${exact(y)} tokens`;

/** The plot as a slider over turns: arrow keys move the cursor, Enter opens the turn in the log. */
export function TurnSlider({
  scales: { area },
  cursor,
  points,
  label,
  onTurn,
}: Props & { label: string; onTurn: (key: string) => void }) {
  const here = useCursorPoint({ cursor, points });
  const [first, last] = [points[0], points.at(-1)];
  if (first === undefined || last === undefined) return null;
  const shown = here ?? last;

  function onKeyDown(event: KeyboardEvent) {
    const index = points.indexOf(shown);
    const steps: Readonly<Record<string, number>> = {
      ArrowRight: 1,
      ArrowUp: 1,
      ArrowLeft: -1,
      ArrowDown: -1,
      PageUp: 10,
      PageDown: -10,
      Home: -points.length,
      End: points.length,
    };
    const step = steps[event.key];
    if (step !== undefined) {
      event.preventDefault();
      const next = points[Math.min(points.length - 1, Math.max(0, index + step))]!;
      cursor.move(next.point.number, "chart");
    } else if (event.key === "Enter") {
      event.preventDefault();
      onTurn(shown.point.key);
    }
  }
  return (
    <rect
      role="slider"
      tabIndex={0}
      aria-label={label}
      aria-valuemin={first.point.number}
      aria-valuemax={last.point.number}
      aria-valuenow={shown.point.number}
      aria-valuetext={`turn ${exact(shown.point.number)}, ${exact(shown.y)} tokens${
        shown.point.window_tokens === null
          ? ""
          : `, ${percent(shown.y / shown.point.window_tokens)} of the window`
      }`}
      x={area.x}
      y={area.y}
      width={Math.max(0, area.width)}
      height={area.height}
      fill="transparent"
      className="cursor-pointer"
      onClick={() => onTurn(shown.point.key)}
      onKeyDown={onKeyDown}
      onFocus={(event) => {
        if (event.currentTarget.matches(":focus-visible")) cursor.move(shown.point.number, "chart");
      }}
      onBlur={() => cursor.move(undefined, "chart")}
    />
  );
}
