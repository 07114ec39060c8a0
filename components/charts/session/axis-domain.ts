import type { PlacedAgents } from "./place-other-agents.ts";
import type { Axis, ForecastLine, Saw } from "./shape.ts";

/** Padding on each side of a single turn. */
const PADDING: Readonly<Record<Axis, number>> = { turns: 1, time: 30_000 };

/** The range of the horizontal axis that includes everything drawn. */
export function domainOf(
  saw: Saw,
  { agents, before, after }: PlacedAgents,
  next: ForecastLine | null,
  axis: Axis,
): [from: number, to: number] {
  const xs = [
    ...saw.points.map(({ x }) => x),
    ...saw.markers.map(({ x }) => x),
    ...agents.flatMap((spots) => spots.map(({ x }) => x)),
    ...[before, after].flatMap((span) => (span === null ? [] : [span.from, span.to])),
    ...(next === null ? [] : [next.to.x]),
  ];
  const from = xs.reduce((least, x) => Math.min(least, x), xs[0] ?? 0);
  const to = xs.reduce((most, x) => Math.max(most, x), from);
  return from === to ? [from - PADDING[axis], to + PADDING[axis]] : [from, to];
}
