import type { BoundaryView, SessionChart } from "@plimsoll/protocol/api";
import type { Lane } from "./lanes.tsx";
import { otherAgentPath } from "./other-agent-path.ts";
import { type PlacedAgents, placeOtherAgents } from "./place-other-agents.ts";
import { type Axis, type Saw, shapeSaw } from "./shape.ts";

/** The lanes of the other agents on the axis of the selected one, and the parts of the axis that only they use. */
export function placeAgents(
  others: readonly SessionChart["agents"][number][],
  boundaries: readonly BoundaryView[],
  saw: Saw,
  axis: Axis,
): { placed: PlacedAgents; lanes: Lane[] } {
  const placed = placeOtherAgents(
    others.map(({ points }) => points),
    saw.points,
    axis,
  );
  const lanes = others.map(({ agent_id: id, agent: name, points }, index): Lane => {
    const own = boundaries.filter(({ agent_id }) => agent_id === id);
    const spots = placed.agents[index]!;
    const shaped = shapeSaw(points, own, axis);
    const placeOf = new Map(shaped.points.map(({ point }, place) => [point.number, spots[place]!.x]));
    return {
      id,
      name,
      points: otherAgentPath(points, own, spots, axis),
      turns: points,
      falls: shaped.markers.flatMap(({ boundary, x, from, to, before, after }) => {
        const [left, right] = [before, after].map((one) => one && placeOf.get(one.point.number));
        const at =
          axis === "time"
            ? x
            : left === undefined || right === undefined
              ? (left ?? right)
              : (left + right) / 2;
        return at === undefined ? [] : [{ boundary, x: at, y: from ?? to ?? 0 }];
      }),
    };
  });
  return { placed, lanes };
}
