import type { ChartPoint } from "@plimsoll/protocol";
import type { Axis, Point, SawPoint } from "./shape.ts";

/** Places the turns of other agents on the axis of the agent shown. Pure; x is in its turns or in epoch ms. */

interface Span {
  from: number;
  to: number;
}

export interface PlacedAgents {
  /** One list for each agent given, in the same order. */
  agents: Point[][];
  /** Where turns stand that came before the first turn of the agent shown. Null on the axis of time. */
  before: Span | null;
  /** The same for those after its last turn. */
  after: Span | null;
}

/** A part before or after takes at most this share of the width between the first turn and the last. */
const MOST = 0.5;
/** Unless that is less than this many turns. */
const LEAST = 2;

/**
 * A turn between two of the shown agent's stands between them, by time. What came before its first or after its
 * last turn has none to stand between: those turns follow one another in order, a turn apart, or closer when they
 * are so many that the shown agent would have to shrink for them.
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
  // A stable sort: what happened in the same millisecond stays as its agent has it.
  const early = turns.filter(({ at }) => at < times[0]!).sort((a, b) => a.at - b.at);
  const late = turns.filter(({ at }) => at > times.at(-1)!).sort((a, b) => a.at - b.at);
  const room = Math.max((last.x - first.x) * MOST, LEAST);
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

/** Turns with the time they came at. Where a clock went back, the order of the turns is the truth. */
function ordered(points: readonly ChartPoint[]): { point: ChartPoint; at: number }[] {
  let latest = Number.NEGATIVE_INFINITY;
  return points.map((point) => {
    latest = Math.max(latest, Date.parse(point.at));
    return { point, at: latest };
  });
}

/** The turn, as a fraction, that the shown agent was at; `at` lies within its `times`. */
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
