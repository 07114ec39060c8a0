/** @jsxImportSource #jsx */
"use client";

import { type KeyboardEvent, type PointerEvent, useRef, useState } from "react";
import { exact } from "../../format.ts";
import type { TurnSpan } from "../../turn-span.ts";
import { boundaryLook } from "../boundary-looks.ts";
import { type BrushPart, brushed } from "./brush.ts";
import { svgPath } from "./overlay.tsx";
import { type Domain, linearScales, type PlotArea, valueAt } from "./scales.ts";
import type { Saw } from "./shape.ts";
import { pointNear, pointOfTurn } from "./zoom.ts";

export const OVERVIEW_PX = 46;
const HANDLE_PX = 10;

interface Props {
  saw: Saw;
  /** Of everything that the chart can show. */
  domain: Domain;
  top: number;
  area: Pick<PlotArea, "x" | "width">;
  zoom: TurnSpan | null;
  onZoom: (zoom: TurnSpan | null) => void;
}

interface Drag {
  part: BrushPart;
  start: number;
  zoom: TurnSpan | null;
}

/** The whole history in small, with a brush that selects the turns of the chart above. */
export function Overview({ saw, domain, top, area: { x: left, width }, zoom, onZoom }: Props) {
  const drag = useRef<Drag>(undefined);
  const [draft, setDraft] = useState<TurnSpan | null>();
  const area: PlotArea = { x: left, y: 8, width, height: OVERVIEW_PX - 12 };
  const scales = linearScales(area, domain, top);
  const [first, last] = [saw.points[0], saw.points.at(-1)];
  if (first === undefined || last === undefined) return null;
  const all = { from: first.point.number, to: last.point.number };
  const span = draft === undefined ? zoom : draft;
  const px = (turn: number) => scales.x(pointOfTurn(saw.points, turn)?.x ?? domain[0]);
  const [from, to] = [px((span ?? all).from), px((span ?? all).to)];
  const bottom = area.y + area.height;

  const turnAt = (event: PointerEvent<HTMLElement>) => {
    const { left: edge } = event.currentTarget.getBoundingClientRect();
    return pointNear(saw.points, valueAt(area, domain, event.clientX - edge))!.point.number;
  };
  function begin(event: PointerEvent<HTMLElement>) {
    event.stopPropagation();
    if (event.button !== 0) return;
    event.preventDefault();
    event.currentTarget.setPointerCapture(event.pointerId);
    const at = event.clientX - event.currentTarget.getBoundingClientRect().left;
    const part: BrushPart =
      Math.abs(at - from) <= HANDLE_PX
        ? "from"
        : Math.abs(at - to) <= HANDLE_PX
          ? "to"
          : span !== null && at > from && at < to
            ? "body"
            : "new";
    drag.current = { part, start: turnAt(event), zoom: span };
  }
  function move(event: PointerEvent<HTMLElement>) {
    // The cursor follows the axis of the chart, which the overview does not share.
    event.stopPropagation();
    const under = drag.current;
    if (under === undefined) return;
    setDraft(brushed(under.part, under.zoom, { from: under.start, to: turnAt(event) }, all));
  }
  function end() {
    if (drag.current !== undefined && draft !== undefined) onZoom(draft);
    drag.current = undefined;
    setDraft(undefined);
  }
  function cancel() {
    drag.current = undefined;
    setDraft(undefined);
  }
  const step = Math.max(1, Math.round((all.to - all.from) / 50));
  function onKey(part: "from" | "to", event: KeyboardEvent) {
    const here = (span ?? all)[part];
    const next = {
      ArrowRight: here + step,
      ArrowUp: here + step,
      ArrowLeft: here - step,
      ArrowDown: here - step,
      Home: all.from,
      End: all.to,
    }[event.key];
    if (event.key === "Escape") onZoom(null);
    else if (next !== undefined) onZoom(brushed(part, span, { from: here, to: next }, all));
    else return;
    event.preventDefault();
  }
  return (
    <section aria-label="Overview of all turns" data-testid="saw-overview" className="mt-1">
      <div
        role="presentation"
        className="cursor-crosshair touch-pan-y select-none"
        onPointerDown={begin}
        onPointerMove={move}
        onPointerUp={end}
        onPointerCancel={cancel}
      >
        <svg width="100%" height={OVERVIEW_PX} role="presentation" className="block">
          <rect
            x={left}
            y={area.y}
            width={Math.max(0, width)}
            height={area.height}
            fill="var(--track)"
            opacity={0.45}
            rx={3}
          />
          <path
            d={`${svgPath(saw.path, scales)}L${scales.x(saw.path.at(-1)!.x)} ${bottom}L${scales.x(saw.path[0]!.x)} ${bottom}Z`}
            fill="var(--water)"
            opacity={0.35}
          />
          <path d={svgPath(saw.path, scales)} fill="none" stroke="var(--water)" strokeWidth={1} />
          {saw.markers.map(({ boundary, x }) => {
            const urgent = boundary.type === "unexplained";
            return (
              <line
                key={boundary.id}
                x1={scales.x(x)}
                x2={scales.x(x)}
                y1={urgent ? 0 : area.y - 4}
                y2={urgent ? area.y + area.height : area.y + 2}
                stroke={boundaryLook(boundary.type).colour}
                strokeWidth={urgent ? 1.6 : 1}
                opacity={urgent ? 0.9 : 0.7}
              />
            );
          })}
          {span !== null && (
            <g pointerEvents="none" fill="var(--panel)" opacity={0.62}>
              <rect x={left} y={0} width={Math.max(0, from - left)} height={OVERVIEW_PX} />
              <rect x={to} y={0} width={Math.max(0, left + width - to)} height={OVERVIEW_PX} />
            </g>
          )}
          <rect
            x={from}
            y={area.y}
            width={Math.max(1, to - from)}
            height={area.height}
            fill="none"
            stroke={span === null ? "var(--edge)" : "var(--accent)"}
            rx={3}
            className={span === null ? undefined : "cursor-grab"}
            pointerEvents="none"
          />
          {(["from", "to"] as const).map((part) => {
            const turn = (span ?? all)[part];
            return (
              <g
                key={part}
                role="slider"
                tabIndex={0}
                aria-label={part === "from" ? "First turn shown" : "Last turn shown"}
                aria-valuemin={all.from}
                aria-valuemax={all.to}
                aria-valuenow={turn}
                aria-valuetext={`turn ${exact(turn)}`}
                className="cursor-ew-resize"
                onKeyDown={(event) => onKey(part, event)}
              >
                <rect
                  x={(part === "from" ? from : to) - HANDLE_PX / 2}
                  y={area.y - 2}
                  width={HANDLE_PX}
                  height={area.height + 4}
                  fill="transparent"
                />
                <rect
                  x={(part === "from" ? from : to) - 3}
                  y={area.y + area.height / 2 - 9}
                  width={6}
                  height={18}
                  rx={2}
                  fill="var(--panel)"
                  stroke={span === null ? "var(--faint)" : "var(--accent)"}
                  strokeWidth={1.4}
                />
              </g>
            );
          })}
        </svg>
      </div>
    </section>
  );
}
