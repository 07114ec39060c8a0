import type { ReplaySessionView } from "@plimsoll/protocol/api";
import { iso } from "../../times.ts";
import type { ReplayPoint } from "./agent-replay.ts";
import { type ReplayRequest, replaySession } from "./run-replay.ts";

/** Points of one agent. Each bucket gives two: its highest and its last turn. */
const MOST_POINTS = 1_000;

/** The levels of one session in all runs, for a chart. */
export async function readReplaySession(
  request: ReplayRequest,
  session: string,
  signal: AbortSignal,
): Promise<ReplaySessionView> {
  const filter = { ...request.filter, session };
  const agents = await replaySession({ ...request, filter }, signal);
  return {
    agents: agents.map(({ agent, points }) => ({
      agent_id: agent.id,
      agent: agent.name,
      turns: points.length,
      points: thinnedPoints(points).map(({ at, ...levels }) => ({ at: iso(at), ...levels })),
    })),
  };
}

/** The highest and the last turn of each bucket, so that no peak vanishes. */
export function thinnedPoints(points: readonly ReplayPoint[]): ReplayPoint[] {
  if (points.length <= MOST_POINTS) return [...points];
  const width = Math.ceil(points.length / (MOST_POINTS / 2));
  const kept: ReplayPoint[] = [];
  for (let from = 0; from < points.length; from += width) {
    const bucket = points.slice(from, from + width);
    const highest = bucket.reduce((one, other) => (heightOf(other) > heightOf(one) ? other : one));
    const last = bucket.at(-1)!;
    if (highest !== last) kept.push(highest);
    kept.push(last);
  }
  return kept;
}

const heightOf = ({ happened, current, candidate }: ReplayPoint) => Math.max(happened, current, candidate);
