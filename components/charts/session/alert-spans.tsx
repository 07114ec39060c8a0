/** @jsxImportSource #jsx */
"use client";

import type { AlertSeverity } from "@plimsoll/protocol/alerts";
import { useId } from "react";
import type { PlacedSpan } from "./place-alert-spans.ts";
import { useRovingFocus } from "./roving-focus.ts";
import type { Scales } from "./scales.ts";

/** Height of one row of spans. */
export const LANE_PX = 14;
const BAR_PX = 8;
/** A span is at least this wide. */
const LEAST_PX = 6;
/** Width that a pointer can hit. */
const TARGET_PX = 24;

const COLOURS: Readonly<Record<AlertSeverity, string>> = {
  critical: "var(--hard)",
  warning: "var(--warn-ink)",
  info: "var(--muted)",
};

export interface ShownSpan {
  id: string;
  x: number;
  y: number;
}

interface Props {
  scales: Scales;
  spans: readonly PlacedSpan[];
  onShow: (shown: ShownSpan) => void;
  /** `to` is what has the focus now. */
  onHide: (to: EventTarget | null) => void;
}

/** Alerts as bars above the chart, each with its time shaded below. Arrow keys move between them. */
export function AlertSpans({ scales, spans, onShow, onHide }: Props) {
  const hatch = useId();
  const { onKeyDown, setActive, tabIndexOf } = useRovingFocus(spans.length, "[data-alert-span]");
  const { x, area } = scales;
  const bottom = area.y + area.height;
  const right = area.x + area.width;
  if (spans.length === 0) return null;
  return (
    // biome-ignore lint/a11y/noStaticElementInteractions: the group only moves focus between its spans
    <g onKeyDown={onKeyDown} data-testid="saw-alerts">
      <defs>
        <HatchPattern id={hatch} />
      </defs>
      {spans.map(({ span, from, to, lane }, index) => {
        const colour = COLOURS[span.severity];
        const left = Math.min(x(from), right - LEAST_PX);
        const width = Math.max(LEAST_PX, x(to) - left);
        const top = 4 + lane * LANE_PX;
        const isOpen = span.to === null;
        const show = () => onShow({ id: span.id, x: left, y: top + LANE_PX });
        const target = Math.max(TARGET_PX, width);
        return (
          <g key={span.id}>
            <rect
              x={left}
              y={top + BAR_PX}
              width={width}
              height={bottom - top - BAR_PX}
              fill={colour}
              opacity={span.isChosen ? 0.18 : 0.05}
              pointerEvents="none"
            />
            <g stroke={colour} opacity={0.55} pointerEvents="none">
              <line x1={left} x2={left} y1={top} y2={bottom} />
              {!isOpen && (
                <line x1={left + width} x2={left + width} y1={top} y2={bottom} strokeDasharray="2 3" />
              )}
            </g>
            {/* biome-ignore lint/a11y/useSemanticElements: an element of HTML cannot be in a drawing */}
            <g
              role="button"
              aria-label={span.name}
              data-alert-span={span.severity}
              data-open={isOpen}
              tabIndex={tabIndexOf(index)}
              onFocus={() => {
                setActive(index);
                show();
              }}
              onBlur={({ relatedTarget }) => onHide(relatedTarget)}
              onMouseEnter={show}
              onMouseLeave={() => onHide(null)}
              onClick={show}
              onKeyDown={(event) => {
                if (event.key === "Enter" || event.key === " ") {
                  event.preventDefault();
                  show();
                }
              }}
            >
              <rect
                x={Math.min(left, right - target)}
                y={top - 3}
                width={target}
                height={LANE_PX}
                fill="transparent"
              />
              <SpanBar
                severity={span.severity}
                box={{ x: left, y: top, width, height: BAR_PX }}
                isOpen={isOpen}
                hatch={hatch}
              />
            </g>
          </g>
        );
      })}
    </g>
  );
}

function HatchPattern({ id }: { id: string }) {
  return (
    <pattern id={id} width={5} height={5} patternUnits="userSpaceOnUse" patternTransform="rotate(45)">
      <rect width={5} height={5} fill="var(--panel)" />
      <rect width={2.4} height={5} fill={COLOURS.warning} />
    </pattern>
  );
}

/** Filled, hatched or empty, so that severities differ without color. An open one ends in a point. */
function SpanBar({
  severity,
  box: { x, y, width, height },
  isOpen,
  hatch,
}: {
  severity: AlertSeverity;
  box: { x: number; y: number; width: number; height: number };
  isOpen: boolean;
  hatch: string;
}) {
  const colour = COLOURS[severity];
  const fill = { critical: colour, warning: `url(#${hatch})`, info: "var(--panel)" }[severity];
  const end = x + width;
  const shoulder = isOpen ? end - Math.min(height / 2, width) : end;
  const tip = isOpen ? `L${end} ${y + height / 2}` : "";
  return (
    <path
      d={`M${x} ${y}H${shoulder}${tip}L${shoulder} ${y + height}H${x}Z`}
      fill={fill}
      stroke={colour}
      strokeWidth={1.2}
    />
  );
}

/** The bar of a severity, for a legend. */
export function SeverityBar({ severity }: { severity: AlertSeverity }) {
  const hatch = useId();
  return (
    <svg aria-hidden width={18} height={10} viewBox="0 0 18 10" className="shrink-0">
      <defs>
        <HatchPattern id={hatch} />
      </defs>
      <SpanBar
        severity={severity}
        box={{ x: 1, y: 1, width: 16, height: BAR_PX }}
        isOpen={false}
        hatch={hatch}
      />
    </svg>
  );
}
