import type { BoundaryView, SessionChart, SessionDetail } from "@plimsoll/protocol/api";

export type CompareAxis = "turns" | "time";
export type CompareUnit = "tokens" | "share";

/** A turn or a fall of one session, on the axis that both share. */
export interface ComparePoint {
  /** Turns, or ms since the session's first turn. */
  x: number;
  /** Tokens, or a share of the window. */
  y: number;
}

export interface CompareFall extends ComparePoint {
  boundary: BoundaryView;
}

export interface CompareLine {
  points: ComparePoint[];
  falls: CompareFall[];
}

interface Source {
  detail: Pick<SessionDetail, "main_agent_id" | "boundaries">;
  chart: SessionChart;
}

/** The main agent's level over turns or over time since its first turn. A turn without a known level is left out. */
export function compareLine({ detail, chart }: Source, axis: CompareAxis, unit: CompareUnit): CompareLine {
  const drawn = chart.agents.find(({ agent_id }) => agent_id === detail.main_agent_id) ?? chart.agents[0];
  const start = Date.parse(drawn?.points[0]?.at ?? "");
  const known = (drawn?.points ?? []).flatMap((point) => {
    const y = levelOf(point, unit);
    return y === undefined ? [] : [{ x: placeOf(point, axis, start), y, at: Date.parse(point.at) }];
  });
  const falls = detail.boundaries.flatMap((boundary): CompareFall[] => {
    if (!boundary.explains_fall || boundary.agent_id !== drawn?.agent_id) return [];
    // A fall is marked where the level was before it. An inferred one has the time of the turn that fell.
    const at = Date.parse(boundary.at) - (boundary.inferred ? 1 : 0);
    const before = known.findLast((point) => point.at <= at) ?? known[0];
    return before === undefined ? [] : [{ x: before.x, y: before.y, boundary }];
  });
  return { points: known.map(({ x, y }) => ({ x, y })), falls };
}

type ChartPoint = SessionChart["agents"][number]["points"][number];

function levelOf({ context_tokens: tokens, window_tokens: window }: ChartPoint, unit: CompareUnit) {
  if (tokens === null) return undefined;
  if (unit === "tokens") return tokens;
  return window === null || window === 0 ? undefined : tokens / window;
}

const placeOf = ({ number, at }: ChartPoint, axis: CompareAxis, start: number) =>
  axis === "turns" ? number : Date.parse(at) - start;
