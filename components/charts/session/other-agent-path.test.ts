import type { BoundaryView, ChartPoint } from "@plimsoll/protocol/api";
import { expect, test } from "vitest";
import { otherAgentPath } from "./other-agent-path.ts";

const START = Date.UTC(2026, 10, 20, 10);
const iso = (seconds: number) => new Date(START + seconds * 1000).toISOString();

function point(number: number, tokens: number | null, window = 0): ChartPoint {
  return {
    key: String(number),
    number,
    at: iso(number * 10),
    window,
    context_tokens: tokens,
    window_tokens: 200_000,
    estimated: false,
    composition_estimated: false,
    composition: null,
  };
}

const masked = (seconds: number, before: number, after: number | null) =>
  ({
    id: `masked-${seconds}`,
    type: "masked",
    at: iso(seconds),
    window: 0,
    inferred: false,
    explains_fall: true,
    tokens_before: before,
    tokens_after: after,
  }) as BoundaryView;

const points = [point(1, 10), point(2, 50), point(3, 20), point(4, 30)];
const spots = [
  { x: 5, y: 10 },
  { x: 7, y: 50 },
  { x: 8, y: 20 },
  { x: 12, y: 30 },
];

test("a fall is a vertical edge between the positions of the turns around it", () => {
  expect(otherAgentPath(points, [masked(24, 50, 20)], spots, "turns")).toEqual([
    { x: 5, y: 10 },
    { x: 7, y: 50 },
    { x: 7.5, y: 50 },
    { x: 7.5, y: 20 },
    { x: 8, y: 20 },
    { x: 12, y: 30 },
  ]);
});

test("the start of a window without a boundary is a vertical edge", () => {
  const two = [point(1, 50), point(2, 5, 1)];
  expect(otherAgentPath(two, [], spots.slice(0, 2), "turns")).toEqual([
    { x: 5, y: 50 },
    { x: 6, y: 50 },
    { x: 6, y: 5 },
    { x: 7, y: 5 },
  ]);
});

test("without a fall the line goes through the counted turns", () => {
  const some = [point(1, 10), point(2, null), point(5, 40)];
  expect(otherAgentPath(some, [], [spots[0]!, spots[3]!], "turns")).toEqual([
    { x: 5, y: 10 },
    { x: 12, y: 40 },
  ]);
});

test("a fall after the last turn is not drawn", () => {
  expect(otherAgentPath(points, [masked(99, 30, 10)], spots, "turns")).toEqual(spots);
});

test("on the time axis a fall is at its own time", () => {
  const at = (seconds: number) => START + seconds * 1000;
  const times = points.map(({ number, context_tokens }) => ({ x: at(number * 10), y: context_tokens! }));
  expect(otherAgentPath(points, [masked(24, 50, 20)], times, "time")).toEqual([
    { x: at(10), y: 10 },
    { x: at(20), y: 50 },
    { x: at(24), y: 50 },
    { x: at(24), y: 20 },
    { x: at(30), y: 20 },
    { x: at(40), y: 30 },
  ]);
});

test("an agent without a counted turn has no line", () => {
  expect(otherAgentPath([point(1, null)], [], [], "turns")).toEqual([]);
});
