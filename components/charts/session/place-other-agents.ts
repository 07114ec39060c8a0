import type { ChartPoint } from "@plimsoll/protocol/api";
import type { Axis, Point, SawPoint } from "./shape.ts";

interface AxisSpan {
  from: number;
  to: number;
}

export interface PlacedAgents {
  /** One list per agent, in the given order. `x` is on the axis of the selected agent. */
  agents: Point[][];
  /** The range of turns before the first turn of the selected agent; null on the time axis. */
  before: AxisSpan | null;
  /** The range of turns after the last turn of the selected agent; null on the time axis. */
  after: AxisSpan | null;
}

/** Maximum width of the part before or after, as a share of the selected agent's own width. */
const MAX_SHARE = 0.5;
/** Minimum of that maximum, in turns. */
const MIN_TURNS = 2;

/**
 * Places the turns of other agents on the axis of the selected agent, interpolated by time between its turns.
 * Turns before its first or after its last turn are spaced evenly, one turn apart or closer if there are many.
 */
export function placeOtherAgents(
  agents: readonly (readonly ChartPoint[])[],
  main: readonly SawPoint[],
  axis: Axis,
): PlacedAgents {
  const turns = agents.flatMap((points, agent) =>
    ordered(points.filter((point) => point.context_tokens !== null)).map(({ point, at }) => ({
      agent,
      at,
      y: point.context_tokens!,
    })),
  );
  const times = ordered(main.map(({ point }) => point)).map(({ at }) => at);
  const first = main[0];
  const last = main.at(-1);
  const placed = agents.map((): Point[] => []);
  if (axis === "time" || first === undefined || last === undefined) {
    for (const { agent, at, y } of turns) placed[agent]!.push({ x: at, y });
    return { agents: placed, before: null, after: null };
  }
  // The sort is stable: turns in the same millisecond keep their order within an agent.
  const early = turns.filter(({ at }) => at < times[0]!).sort((a, b) => a.at - b.at);
  const late = turns.filter(({ at }) => at > times.at(-1)!).sort((a, b) => a.at - b.at);
  const room = Math.max((last.x - first.x) * MAX_SHARE, MIN_TURNS);
  const step = (count: number) => Math.min(1, room / count);
  early.forEach(({ agent, y }, index) => {
    placed[agent]!.push({ x: first.x - (early.length - index) * step(early.length), y });
  });
  for (const { agent, at, y } of turns) {
    if (at >= times[0]! && at <= times.at(-1)!) placed[agent]!.push({ x: turnAt(at, times, main), y });
  }
  late.forEach(({ agent, y }, index) => {
    placed[agent]!.push({ x: last.x + (index + 1) * step(late.length), y });
  });
  return {
    agents: placed,
    before: early.length === 0 ? null : { from: first.x - early.length * step(early.length), to: first.x },
    after: late.length === 0 ? null : { from: last.x, to: last.x + late.length * step(late.length) },
  };
}

/** Turns with non-decreasing times. If a clock went back, the order of the turns wins. */
function ordered(points: readonly ChartPoint[]): { point: ChartPoint; at: number }[] {
  let latest = Number.NEGATIVE_INFINITY;
  return points.map((point) => {
    latest = Math.max(latest, Date.parse(point.at));
    return { point, at: latest };
  });
}

/** The fractional turn of the selected agent at time `at`, which is within `times`. */
function turnAt(at: number, times: readonly number[], main: readonly SawPoint[]): number {
  let low = 0;
  let high = times.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (times[middle]! <= at) low = middle + 1;
    else high = middle;
  }
  const before = main[low - 1]!;
  const after = main[low];
  if (after === undefined) return before.x;
  const share = (at - times[low - 1]!) / (times[low]! - times[low - 1]!);
  return before.x + (after.x - before.x) * share;
}
