import type { BoundaryView, ChartPoint } from "@plimsoll/protocol/api";
import { describe, expect, test } from "vitest";
import { forecastLine, shapeSaw, topOf } from "./shape.ts";

const START = Date.UTC(2026, 10, 20, 10);
const at = (seconds: number) => new Date(START + seconds * 1000).toISOString();

function point(number: number, tokens: number | null, window = 0, seconds = number * 10): ChartPoint {
  return {
    key: String(number),
    number,
    at: at(seconds),
    window,
    context_tokens: tokens,
    window_tokens: 1_000_000,
    estimated: false,
    composition_estimated: false,
    composition: null,
  };
}

function boundary(seconds: number, more: Partial<BoundaryView> = {}): BoundaryView {
  return {
    id: `b${seconds}${more.type ?? ""}`,
    agent_id: "a",
    agent: "main",
    type: "masked",
    explains_fall: true,
    inferred: false,
    hint: null,
    at: at(seconds),
    window: 0,
    tokens_before: null,
    tokens_after: null,
    reclaimed_tokens: null,
    detail: {},
    ...more,
  };
}

const xy = (points: readonly { x: number; y: number }[]) => points.map(({ x, y }) => [x, y]);

test("a boundary between two turns is a vertical edge between them", () => {
  const saw = shapeSaw([point(1, 100), point(2, 200), point(3, 120)], [boundary(25)], "turns");
  expect(xy(saw.path)).toEqual([
    [1, 100],
    [2, 200],
    [2.5, 200],
    [2.5, 120],
    [3, 120],
  ]);
  expect(saw.markers[0]).toMatchObject({ x: 2.5, from: 200, to: 120 });
});

test("reported levels win over the levels of neighboring turns", () => {
  const saw = shapeSaw(
    [point(1, 100), point(2, 120)],
    [boundary(15, { tokens_before: 130, tokens_after: 90 })],
    "turns",
  );
  expect(xy(saw.path)).toEqual([
    [1, 100],
    [1.5, 130],
    [1.5, 90],
    [2, 120],
  ]);
});

test("on the time axis a boundary is at its own time", () => {
  const saw = shapeSaw([point(1, 100), point(2, 50)], [boundary(13)], "time");
  expect(saw.markers[0]?.x).toBe(START + 13_000);
});

test("an inferred fall is before the turn that shows it", () => {
  const saw = shapeSaw(
    [point(1, 100), point(2, 50), point(3, 60)],
    [boundary(20, { type: "unexplained", explains_fall: false, inferred: true })],
    "turns",
  );
  expect(saw.markers[0]).toMatchObject({ x: 1.5, from: 100, to: 50 });
});

test("a boundary in the same millisecond as a turn follows that turn", () => {
  const saw = shapeSaw([point(1, 100), point(2, 200), point(3, 80)], [boundary(20)], "turns");
  expect(saw.markers[0]?.x).toBe(2.5);
});

test("a boundary after the latest turn has no level after it", () => {
  const saw = shapeSaw([point(1, 100)], [boundary(99)], "turns");
  expect(saw.markers[0]).toMatchObject({ x: 1.5, from: 100, to: null });
  expect(saw.path).toHaveLength(1);
});

test("a boundary before the first turn has no level before it", () => {
  const saw = shapeSaw([point(1, 100)], [boundary(1)], "turns");
  expect(saw.markers[0]).toMatchObject({ x: 1, from: null, to: 100 });
  expect(saw.path).toHaveLength(1);
});

test("a new window without a boundary is still a vertical edge", () => {
  const saw = shapeSaw([point(1, 100, 0), point(2, 10, 1)], [], "turns");
  expect(xy(saw.path)).toEqual([
    [1, 100],
    [1.5, 100],
    [1.5, 10],
    [2, 10],
  ]);
  expect(saw.windows).toEqual([{ x: 1.5, index: 1 }]);
});

test("uncounted turns and events that explain no fall draw nothing", () => {
  const saw = shapeSaw(
    [point(1, 100), point(2, null)],
    [boundary(15, { type: "wind_down", explains_fall: false })],
    "turns",
  );
  expect(saw.points).toHaveLength(1);
  expect(saw.markers).toHaveLength(0);
});

test("no turns give an empty path", () => {
  expect(shapeSaw([], [boundary(1)], "turns").path).toEqual([]);
});

describe("the forecast line", () => {
  const points = Array.from({ length: 41 }, (_, index) => point(index + 1, 100 + index * 10));
  const saw = shapeSaw(points, [], "turns");
  const rising = { reason: "rising", growth: 10 };
  test("ends at the line if the line is near", () => {
    expect(forecastLine(saw, rising, 520, "turns")).toEqual({
      from: { x: 41, y: 500 },
      to: { x: 43, y: 520 },
    });
  });
  test("ends after a tenth of the chart if the line is far", () => {
    expect(forecastLine(saw, rising, 9000, "turns")?.to).toEqual({ x: 45, y: 540 });
  });
  test("follows the turn rate on the time axis", () => {
    const timed = shapeSaw(points, [], "time");
    expect(forecastLine(timed, rising, 520, "time")?.to).toEqual({ x: START + 430_000, y: 520 });
  });
  test.each([
    [{ reason: "over", growth: 10 }, 520],
    [{ reason: "rising", growth: null }, 520],
    [{ reason: "rising", growth: 10 }, null],
  ])("%o with the line at %s gives none", (forecast, line) => {
    expect(forecastLine(saw, forecast, line, "turns")).toBeNull();
  });
});

test("the axis includes the line and the highest level", () => {
  const saw = shapeSaw([point(1, 100)], [], "turns");
  expect(topOf(saw, 1000, null)).toBeCloseTo(1140);
  expect(topOf(shapeSaw([point(1, 2000)], [], "turns"), 1000, null)).toBeCloseTo(2280);
  expect(topOf(shapeSaw([], [], "turns"), null, null)).toBeGreaterThan(0);
});

test.each([
  ["the end of the window is just above the line", 167_000, 200_000, 228_000],
  ["half of the height would be empty, at most", 100_000, 200_000, 228_000],
  ["a line far below the end", 40_000, 200_000, 45_600],
  ["a level above a wrong window size", 210_000, 200_000, 239_400],
])("the axis, if %s", (_, line, windowEnd, top) => {
  expect(topOf(shapeSaw([], [], "turns"), line, windowEnd)).toBeCloseTo(top);
});

test("on the time axis a window starts at its boundary", () => {
  const saw = shapeSaw([point(1, 100), point(2, 5, 1)], [boundary(12)], "time");
  expect(saw.windows).toEqual([{ x: START + 12_000, index: 1 }]);
});
