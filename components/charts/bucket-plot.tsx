/** @jsxImportSource #jsx */
import type { BoundaryType } from "@plimsoll/protocol/events";
import { type KeyboardEvent, type MouseEvent, type ReactNode, useState } from "react";
import { AXIS_PX, type Inset, LANE_PX } from "./axes.ts";
import { brushed, nearestBucket, type TimeRange } from "./brush.ts";
import type { ChartActions } from "./chart-actions.ts";
import { tooltipBox } from "./chart-frame.tsx";
import { placeOf } from "./plot-overlay.tsx";

interface Props extends Pick<ChartActions, "onHover" | "onBrush"> {
  /** Names the plot for readers of a screen. */
  label: string;
  inset: Inset;
  axis: TimeRange;
  /** Length of a bucket, ms. */
  step: number;
  /** Where the buckets begin, epoch ms, in order. */
  buckets: readonly number[];
  /** Whether a bucket is drawn as wide as it is, or at the time at which it begins. */
  isWide: boolean;
  /** What a bucket holds, a line each, by its place among the buckets. */
  wordsOf: (index: number) => string[];
  /** The type that a part of a bar stands for, by its `data-group`. */
  typeOf?: ((group: string) => BoundaryType | undefined) | undefined;
  /** SVG as large as the plot. */
  children: ReactNode;
}

interface Drag {
  pressed: number;
  reached: number;
  reason: BoundaryType | undefined;
}

/**
 * The plot of a chart of buckets. A press and release opens a bucket, and dragging selects a range. With the focus on it, the arrow
 * keys move between the buckets, and Enter opens one.
 */
export function BucketPlot(props: Props) {
  const { label, inset, axis, step, buckets, isWide, wordsOf, typeOf, onHover, onBrush, children } = props;
  const [pointed, setPointed] = useState<number | null>(null);
  const [drag, setDrag] = useState<Drag | null>(null);
  const anchor = isWide ? step / 2 : 0;
  // New data may have fewer buckets.
  const active = pointed === null || pointed >= buckets.length ? null : pointed;

  function point(index: number | null): void {
    setPointed(index);
    onHover(index === null ? null : buckets[index]!);
  }
  function indexAt({ clientX, currentTarget }: MouseEvent): number | null {
    const { left, width } = currentTarget.getBoundingClientRect();
    const at = axis.from + ((clientX - left) / width) * (axis.to - axis.from);
    return nearestBucket(buckets, at - anchor);
  }
  function onMouseDown(event: MouseEvent): void {
    const index = indexAt(event);
    if (index === null || event.button !== 0) return;
    const group = (event.target as Element).getAttribute("data-group");
    const reason = group === null ? undefined : typeOf?.(group);
    setDrag({ pressed: buckets[index]!, reached: buckets[index]!, reason });
  }
  function onMouseMove(event: MouseEvent): void {
    const index = indexAt(event);
    if (index !== active) point(index);
    if (index !== null && drag !== null && drag.reached !== buckets[index])
      setDrag({ ...drag, reached: buckets[index]! });
  }
  function onMouseUp(): void {
    setDrag(null);
    if (drag !== null) onBrush(brushed(drag.pressed, drag.reached, step, axis), drag.reason);
  }
  function leave(): void {
    point(null);
    setDrag(null);
  }
  function onKeyDown(event: KeyboardEvent): void {
    const by = { ArrowLeft: -1, ArrowRight: 1 }[event.key];
    if (by !== undefined) point(Math.min(buckets.length - 1, Math.max(0, (active ?? buckets.length) + by)));
    else if (event.key === "Enter" && active !== null)
      onBrush(brushed(buckets[active]!, buckets[active]!, step, axis));
    else return;
    event.preventDefault();
  }

  const words = active === null ? [] : wordsOf(active);
  const at = active === null ? 0 : buckets[active]!;
  const selected = drag === null ? null : brushed(drag.pressed, drag.reached, step, axis);
  return (
    <div
      role="slider"
      tabIndex={0}
      aria-label={label}
      aria-valuemin={0}
      aria-valuemax={Math.max(0, buckets.length - 1)}
      aria-valuenow={active ?? Math.max(0, buckets.length - 1)}
      aria-valuetext={words.length === 0 ? "no time chosen" : words.join(", ")}
      data-testid="plot"
      className="absolute cursor-crosshair select-none focus-visible:rounded focus-visible:outline-2 focus-visible:outline-offset-2 focus-visible:outline-accent"
      style={{ ...inset, top: LANE_PX, bottom: AXIS_PX }}
      onMouseDown={onMouseDown}
      onMouseMove={onMouseMove}
      onMouseUp={onMouseUp}
      onMouseLeave={leave}
      onKeyDown={onKeyDown}
      onBlur={leave}
    >
      {active !== null && (
        <div
          aria-hidden
          className={isWide ? "absolute inset-y-0 bg-track/60" : "absolute inset-y-0 border-l border-edge"}
          style={{
            left: placeOf(at, axis),
            ...(isWide && { width: `${(step / (axis.to - axis.from)) * 100}%` }),
          }}
        />
      )}
      <svg aria-hidden width="100%" height="100%" className="absolute inset-0 block">
        {children}
      </svg>
      {selected?.intent === "zoom" && (
        <div
          className="chart-selection absolute inset-y-0 bg-accent/20"
          style={{
            left: placeOf(selected.from, axis),
            width: `${((selected.to - selected.from) / (axis.to - axis.from)) * 100}%`,
          }}
        />
      )}
      {active !== null && (
        <div
          aria-hidden
          className={`${tooltipBox} pointer-events-none absolute top-1 z-20 w-max max-w-64`}
          style={tooltipPlace(at + anchor, axis)}
        >
          {words.map((line, index) => (
            <div key={line} className={index === 0 ? "text-faint" : undefined}>
              {line}
            </div>
          ))}
        </div>
      )}
    </div>
  );
}

/** Beside a time, on the side with more room. */
function tooltipPlace(at: number, axis: TimeRange) {
  const share = (at - axis.from) / (axis.to - axis.from);
  const gap = "10px";
  return share > 0.5
    ? { right: `calc(${(1 - share) * 100}% + ${gap})` }
    : { left: `calc(${share * 100}% + ${gap})` };
}
