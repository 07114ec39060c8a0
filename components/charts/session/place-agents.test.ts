import type { BoundaryView, SessionChart } from "@plimsoll/protocol/api";
import { describe, expect, it } from "vitest";
import { placeAgents } from "./place-agents.ts";
import { shapeSaw } from "./shape.ts";

type Agent = SessionChart["agents"][number];
const START = Date.UTC(2026, 10, 20, 10);
const iso = (seconds: number) => new Date(START + seconds * 1000).toISOString();

const agent = (id: string, levels: readonly (readonly [seconds: number, tokens: number])[]): Agent => ({
  agent_id: id,
  agent: `name of ${id}`,
  turns: levels.length,
  cost: null,
  estimated_cost: null,
  latency: null,
  lines: [],
  points: levels.map(([seconds, tokens], index) => ({
    key: String(index),
    number: index + 1,
    at: iso(seconds),
    window: 0,
    context_tokens: tokens,
    window_tokens: 1_000,
    estimated: false,
    composition_estimated: false,
    composition: null,
  })),
});
const fall = (agentId: string, seconds: number, before: number, after: number) =>
  ({
    id: `${agentId}/${seconds}`,
    agent_id: agentId,
    type: "masked",
    at: iso(seconds),
    window: 0,
    inferred: false,
    explains_fall: true,
    tokens_before: before,
    tokens_after: after,
  }) as BoundaryView;

const main = agent("main", [
  [0, 10],
  [100, 20],
]);
const child = agent("child", [
  [25, 100],
  [75, 40],
]);

describe("lanes of other agents", () => {
  it("have their own falls, between their own turns on the axis of the selected agent", () => {
    const saw = shapeSaw(main.points, [], "turns");
    const falls = [fall("child", 50, 100, 40), fall("main", 50, 9, 1)];
    const { lanes } = placeAgents([child], falls, saw, "turns");
    expect(lanes).toHaveLength(1);
    expect(lanes[0]).toMatchObject({ id: "child", name: "name of child", falls: [{ x: 1.5, y: 100 }] });
    expect(lanes[0]!.points[0]).toEqual({ x: 1.25, y: 100 });
    expect(lanes[0]!.points.at(-1)).toEqual({ x: 1.75, y: 40 });
  });

  it("on the time axis have their falls at their own time", () => {
    const saw = shapeSaw(main.points, [], "time");
    const { lanes } = placeAgents([child], [fall("child", 50, 100, 40)], saw, "time");
    expect(lanes[0]!.falls).toMatchObject([{ x: START + 50_000, y: 100 }]);
  });

  it("place a fall after the last turn at that turn", () => {
    const saw = shapeSaw(main.points, [], "turns");
    const { lanes } = placeAgents([child], [fall("child", 90, 40, 5)], saw, "turns");
    expect(lanes[0]!.falls).toMatchObject([{ x: 1.75, y: 40 }]);
  });
});
