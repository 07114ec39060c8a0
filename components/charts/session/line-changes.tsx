/** @jsxImportSource #jsx */
"use client";

import type { AppliedThreshold } from "@plimsoll/protocol/api";
import { THRESHOLD_COLOURS, THRESHOLD_DASHES } from "../threshold-lines.ts";
import type { LineChange, StoodLines } from "./lines-over-time.ts";
import type { Scales } from "./scales.ts";

const round = (value: number) => value.toFixed(1);

/** Each threshold as a line that steps where it changed. */
export function StoodPaths({
  scales: { x, y, area },
  stood,
  line,
  top,
}: {
  scales: Scales;
  stood: StoodLines;
  line: AppliedThreshold["name"] | undefined;
  top: number;
}) {
  const right = area.x + area.width;
  const px = (value: number) =>
    value === Number.NEGATIVE_INFINITY
      ? area.x
      : value === Number.POSITIVE_INFINITY
        ? right
        : Math.min(right, Math.max(area.x, x(value)));
  return stood.lines.map(({ name, pieces }) => {
    const drawn = pieces.filter(({ tokens }) => tokens <= top);
    if (drawn.length === 0) return null;
    const path = drawn.map(({ from, to, tokens }, index) => {
      const before = drawn[index - 1];
      const joins = before !== undefined && before.to === from;
      return `${joins ? "L" : "M"}${round(px(from))} ${round(y(tokens))}L${round(px(to))} ${round(y(tokens))}`;
    });
    return (
      <path
        key={name}
        d={path.join("")}
        fill="none"
        stroke={THRESHOLD_COLOURS[name]}
        strokeWidth={name === line ? 1.8 : 1.4}
        strokeDasharray={THRESHOLD_DASHES[name]}
        data-testid={`saw-threshold-${name}`}
      />
    );
  });
}

/** The line of a threshold, for a legend. */
export function ThresholdSwatch({ name }: { name: AppliedThreshold["name"] }) {
  return (
    <svg aria-hidden width={26} height={8} className="shrink-0">
      <line
        x1={0}
        x2={26}
        y1={4}
        y2={4}
        stroke={THRESHOLD_COLOURS[name]}
        strokeWidth={2}
        strokeDasharray={THRESHOLD_DASHES[name]}
        data-dash={THRESHOLD_DASHES[name] ?? "solid"}
      />
    </svg>
  );
}

/** A mark where the thresholds changed, that says what changed. */
export function LineChanges({
  scales: { x, y, area },
  changes,
  top,
  onShow,
}: {
  scales: Scales;
  changes: readonly LineChange[];
  top: number;
  onShow: (shown: { change: LineChange; x: number; y: number } | null) => void;
}) {
  return changes.map((change) => {
    const px = x(change.x);
    const py = Math.max(area.y + 6, y(Math.min(change.tokens, top)));
    const show = () => onShow({ change, x: px, y: py });
    return (
      // biome-ignore lint/a11y/noInteractiveElementToNoninteractiveRole: a labeled image; focus only shows its tooltip
      <g
        key={change.at}
        role="img"
        aria-label={`Thresholds changed: ${change.texts.join("; ")}`}
        data-testid="saw-line-change"
        tabIndex={0}
        transform={`translate(${round(px)} ${round(py)})`}
        onFocus={show}
        onBlur={() => onShow(null)}
        onMouseEnter={show}
        onMouseLeave={() => onShow(null)}
      >
        <rect x={-10} y={-10} width={20} height={20} fill="transparent" />
        <circle r={4} fill="var(--panel)" stroke="var(--ink)" strokeWidth={1.6} />
        <circle r={1.3} fill="var(--ink)" />
      </g>
    );
  });
}
