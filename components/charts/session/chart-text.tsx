/** @jsxImportSource #jsx */
import type { PlacedText } from "./labels.ts";

/** A chart label, outlined in the background color to stay legible over lines. */
export function ChartText({
  place,
  colour,
  title,
  isStrong = false,
  children,
}: {
  place: PlacedText;
  colour: string;
  /** Shown on hover. */
  title?: string;
  isStrong?: boolean;
  children: string;
}) {
  return (
    <text
      x={place.x}
      y={place.y}
      textAnchor={place.anchor}
      className="chart-text"
      aria-hidden
      style={{
        fill: colour,
        paintOrder: "stroke",
        stroke: "var(--panel)",
        strokeWidth: 3,
        fontWeight: isStrong ? 600 : undefined,
      }}
    >
      {title !== undefined && <title>{title}</title>}
      {children}
    </text>
  );
}
