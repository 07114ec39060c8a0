import type { AgentView, BoundaryView, SessionChart, TurnView } from "@plimsoll/protocol/api";
import type { AlertSpan } from "./place-alert-spans.ts";

/** What the saw-tooth of an agent shows. */
export interface ShownChart {
  agent: AgentView;
  chart: SessionChart;
  boundaries: BoundaryView[];
  alerts: readonly AlertSpan[];
}

/** The part of a chart over some turns. */
export interface ChartPart extends ShownChart {
  /** Numbers of the first and the last turn. */
  from: number;
  to: number;
  /** Whether it reaches to the newest turn. */
  isLatest: boolean;
}

/**
 * The part of an agent's chart over consecutive turns, with every turn: the whole chart may be downsampled.
 * Undefined if none of them has a token count.
 */
export function chartAround(whole: ShownChart, turns: readonly TurnView[]): ChartPart | undefined {
  const { agent } = whole;
  const points = turns.filter(({ compaction }) => !compaction).sort((a, b) => a.number - b.number);
  const [first, last] = [points[0], points.at(-1)];
  if (first === undefined || last === undefined) return undefined;
  if (points.every(({ context_tokens }) => context_tokens === null)) return undefined;
  const times = points.map(({ at }) => Date.parse(at));
  const [start, end] = [Math.min(...times), Math.max(...times)];
  const isWithin = ({ at }: { at: string }) => Date.parse(at) >= start && Date.parse(at) <= end;
  const isLatest = turns.some(({ number }) => number >= agent.turns);
  const agents = whole.chart.agents.map((one) => {
    if (one.agent_id !== agent.id) return { ...one, points: one.points.filter(isWithin) };
    const lines = one.lines.filter(
      ({ number }, index) =>
        number <= last.number && (one.lines[index + 1]?.number ?? Number.POSITIVE_INFINITY) > first.number,
    );
    return { ...one, points, turns: points.length, lines };
  });
  const stood = agents.find(({ agent_id }) => agent_id === agent.id)?.lines.at(-1);
  return {
    from: first.number,
    to: last.number,
    isLatest,
    agent:
      isLatest || stood === undefined
        ? agent
        : { ...agent, thresholds: stood.thresholds, policy_generation: stood.generation },
    // Other agents that were silent in this part have no line.
    chart: { agents: agents.filter((one) => one.points.length > 0) },
    boundaries: whole.boundaries.filter(isWithin),
    alerts: whole.alerts.filter(({ from, to }) => from <= end && (to === null || to >= start)),
  };
}
