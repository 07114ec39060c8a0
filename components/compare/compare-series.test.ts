import type { BoundaryView, SessionChart } from "@plimsoll/protocol/api";
import { expect, test } from "vitest";
import { compareLine } from "./compare-series.ts";

const START = Date.UTC(2026, 10, 20, 10);
const at = (second: number) => new Date(START + second * 1_000).toISOString();

const point = (
  number: number,
  second: number,
  context_tokens: number | null,
  window_tokens: number | null,
) => ({
  key: String(number),
  number,
  at: at(second),
  window: 0,
  context_tokens,
  window_tokens,
  estimated: false,
  composition: null,
  composition_estimated: false,
});

const fall = (second: number, more: Partial<BoundaryView> = {}): BoundaryView => ({
  id: `b${second}`,
  agent_id: "main-id",
  agent: "main",
  type: "masked",
  explains_fall: true,
  inferred: false,
  hint: null,
  at: at(second),
  window: 0,
  tokens_before: null,
  tokens_after: null,
  reclaimed_tokens: null,
  detail: {},
  ...more,
});

function source(boundaries: BoundaryView[] = []) {
  const chart: SessionChart = {
    agents: [
      {
        agent_id: "child-id",
        agent: "child",
        turns: 1,
        cost: null,
        estimated_cost: null,
        latency: null,
        points: [point(1, 0, 7, 10)],
        lines: [],
      },
      {
        agent_id: "main-id",
        agent: "main",
        turns: 4,
        cost: null,
        estimated_cost: null,
        latency: null,
        points: [
          point(1, 60, 100, 1_000),
          point(2, 90, null, 1_000),
          point(3, 120, 400, 1_000),
          point(4, 180, 200, null),
        ],
        lines: [],
      },
    ],
  };
  return { detail: { main_agent_id: "main-id", boundaries }, chart };
}

test("the main agent is drawn by turns, and turns without a level are left out", () => {
  expect(compareLine(source(), "turns", "tokens").points).toEqual([
    { x: 1, y: 100 },
    { x: 3, y: 400 },
    { x: 4, y: 200 },
  ]);
});

test("time counts from the session's first turn", () => {
  expect(compareLine(source(), "time", "tokens").points.map(({ x }) => x)).toEqual([0, 60_000, 120_000]);
});

test("a share needs a known window", () => {
  expect(compareLine(source(), "turns", "share").points).toEqual([
    { x: 1, y: 0.1 },
    { x: 3, y: 0.4 },
  ]);
});

test("a fall is marked at the level before it, and marks of others are not", () => {
  const boundaries = [
    fall(150),
    fall(10),
    fall(150, { agent_id: "child-id" }),
    fall(150, { type: "wind_down", explains_fall: false }),
  ];
  const { falls } = compareLine(source(boundaries), "turns", "tokens");
  expect(falls.map(({ x, y, boundary }) => [boundary.id, x, y])).toEqual([
    ["b150", 3, 400],
    ["b10", 1, 100],
  ]);
});

test("an inferred fall is marked at the turn before the one that fell", () => {
  const { falls } = compareLine(source([fall(180, { inferred: true })]), "turns", "tokens");
  expect(falls.map(({ x, y }) => [x, y])).toEqual([[3, 400]]);
});

test("a session without turns has no line", () => {
  const empty = { detail: { main_agent_id: null, boundaries: [fall(1)] }, chart: { agents: [] } };
  expect(compareLine(empty, "time", "share")).toEqual({ points: [], falls: [] });
});
