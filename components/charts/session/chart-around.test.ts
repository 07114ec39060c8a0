import type { AgentView, BoundaryView, SessionChart, TurnView } from "@plimsoll/protocol/api";
import { describe, expect, it } from "vitest";
import { chartAround, type ShownChart } from "./chart-around.ts";

const START = Date.UTC(2026, 10, 20, 10);
const at = (minute: number) => new Date(START + minute * 60_000).toISOString();
const turn = (number: number, more: Partial<TurnView> = {}) =>
  ({ number, at: at(number), context_tokens: number * 10, compaction: false, ...more }) as TurnView;
const around = (from: number, to: number) => Array.from({ length: to - from + 1 }, (_, n) => turn(to - n));
const boundary = (id: string, minute: number) => ({ id, at: at(minute) }) as BoundaryView;
const step = (number: number) => ({ number, at: at(number), generation: number, thresholds: [] });

const whole: ShownChart = {
  agent: { id: "a", turns: 500, policy_generation: 9, thresholds: [] } as unknown as AgentView,
  chart: {
    agents: [
      {
        agent_id: "a",
        agent: "main",
        turns: 500,
        points: [turn(1), turn(250), turn(500)],
        lines: [1, 90, 105, 300].map(step),
      },
      { agent_id: "b", agent: "child", turns: 2, points: [turn(99), turn(120)], lines: [] },
      { agent_id: "c", agent: "early", turns: 1, points: [turn(5)], lines: [] },
    ],
  } as unknown as SessionChart,
  boundaries: [
    boundary("before", 99.9),
    boundary("first", 100),
    boundary("last", 110),
    boundary("after", 111),
  ],
  alerts: [
    { id: "over", severity: "info", from: START, to: START + 60_000, name: "" },
    { id: "ends", severity: "info", from: START, to: Date.parse(at(100)), name: "" },
    { id: "open", severity: "info", from: Date.parse(at(105)), to: null, name: "" },
    { id: "later", severity: "info", from: Date.parse(at(300)), to: null, name: "" },
  ],
};

describe("the part of a chart around a turn", () => {
  it("has every turn, and of the rest what falls into its time", () => {
    const part = chartAround(whole, around(100, 110))!;
    expect([part.from, part.to, part.isLatest]).toEqual([100, 110, false]);
    const [main, ...others] = part.chart.agents;
    expect(main!.points.map(({ number }) => number)).toEqual([
      100, 101, 102, 103, 104, 105, 106, 107, 108, 109, 110,
    ]);
    expect(main!.turns).toBe(11);
    expect(others).toEqual([]);
  });

  it("keeps the thresholds that stood in it, also for its labels", () => {
    const part = chartAround(whole, around(100, 110))!;
    expect(part.chart.agents[0]!.lines.map(({ number }) => number)).toEqual([90, 105]);
    expect(part.agent.policy_generation).toBe(105);
    expect(chartAround(whole, around(490, 500))!.agent.policy_generation).toBe(9);
    expect(chartAround(whole, around(490, 500))!.isLatest).toBe(true);
  });

  it("keeps boundaries and alerts that reach into it", () => {
    const part = chartAround(whole, around(100, 110))!;
    expect(part.boundaries.map(({ id }) => id)).toEqual(["first", "last"]);
    expect(part.alerts.map(({ id }) => id)).toEqual(["ends", "open"]);
  });

  it("leaves out compaction calls, and is none without a token count", () => {
    const turns = [turn(3), turn(2, { compaction: true }), turn(1, { context_tokens: null })];
    expect(chartAround(whole, turns)!.chart.agents[0]!.points.map(({ number }) => number)).toEqual([1, 3]);
    expect(chartAround(whole, turns.slice(1))).toBeUndefined();
    expect(chartAround(whole, [])).toBeUndefined();
  });

  it("covers all its turns if the clock of the harness went back", () => {
    const part = chartAround(whole, [turn(102, { at: at(50) }), turn(101), turn(100)])!;
    expect(part.boundaries.map(({ id }) => id)).toEqual(["before", "first"]);
    expect(part.chart.agents.map(({ agent }) => agent)).toEqual(["main", "child"]);
  });
});
