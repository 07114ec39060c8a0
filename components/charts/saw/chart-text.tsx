import type { PlacedText } from "./labels.ts";

/** Text of a chart; a rim of the ground keeps it legible over a line. */
export function ChartText({
  place,
  colour,
  children,
}: {
  place: PlacedText;
  colour: string;
  children: string;
}) {
  return (
    <text
      x={place.x}
      y={place.y}
      textAnchor={place.anchor}
      className="chart-text"
      aria-hidden
      style={{ fill: colour, paintOrder: "stroke", stroke: "var(--panel)", strokeWidth: 3 }}
    >
      {children}
    </text>
  );
}
