import type { AgentView } from "@plimsoll/protocol/api";
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { type HullInput, hullOf, LINE_AT, placeOfLoad } from "./hull.ts";

const line = (tokens: number): AgentView["line"] => ({
  threshold: "ceiling",
  tokens,
  kind: "ceiling",
  source: "policy",
});
const agent = (level: number | null, limit: number | null, window: number | null): HullInput => ({
  context_tokens: level,
  window_tokens: window,
  line: limit === null ? null : line(limit),
  peak: level === null ? null : { tokens: level },
  thresholds: [],
});

test.each([
  [-1, 0],
  [0, 0],
  [0.5, LINE_AT / 2],
  [1, LINE_AT],
  [Number.POSITIVE_INFINITY, 1],
  [Number.NaN, 0],
])("a load of %s is at %s", (load, place) => {
  expect(placeOfLoad(load)).toBeCloseTo(place, 9);
});

test("the scale does not break at the line", () => {
  expect((placeOfLoad(1.001) - LINE_AT) / 0.001).toBeCloseTo(LINE_AT, 2);
});

test("a higher load is drawn further right, however high, and always on the hull", () => {
  const load = fc.double({ min: 0, max: 1000, noNaN: true });
  fc.assert(
    fc.property(load, load, (a, b) => {
      const [low, high] = [Math.min(a, b), Math.max(a, b)];
      expect(placeOfLoad(low)).toBeLessThanOrEqual(placeOfLoad(high));
      if (high - low > 0.01) expect(placeOfLoad(low)).toBeLessThan(placeOfLoad(high));
      expect(placeOfLoad(high)).toBeLessThan(1);
    }),
  );
});

test("two agents with one load look alike, whatever their windows", () => {
  const size = fc.integer({ min: 1, max: 10_000_000 });
  fc.assert(
    fc.property(size, size, fc.integer({ min: 0, max: 400 }), (first, second, percent) => {
      const placeOf = (limit: number) => hullOf(agent((limit * percent) / 100, limit, limit * 2))!.level;
      expect(placeOf(first)).toBeCloseTo(placeOf(second), 9);
    }),
  );
});

describe("hullOf", () => {
  test("the end of the window is beyond the line, as far as it is in tokens", () => {
    const near = hullOf(agent(171_000, 167_000, 200_000))!;
    const far = hullOf(agent(171_000, 167_000, 1_000_000))!;
    expect(near.level).toBe(far.level);
    expect(near.level).toBeGreaterThan(LINE_AT);
    expect(near.level).toBeLessThan(near.end!);
    expect(near.end).toBeLessThan(far.end!);
  });

  test("a window that ends before the line is drawn there", () => {
    expect(hullOf(agent(50, 200, 100))!.end).toBeLessThan(LINE_AT);
  });

  test("without a window size the hull has no end, and without a line the window is the line", () => {
    expect(hullOf(agent(50, 100, null))).toMatchObject({ level: LINE_AT / 2, end: null });
    expect(hullOf(agent(50, null, 100))).toMatchObject({ level: LINE_AT / 2, end: LINE_AT });
  });

  test("nothing is drawn without both, and no level without a count", () => {
    expect(hullOf(agent(50, null, null))).toBeNull();
    expect(hullOf(agent(null, 100, 200))).toMatchObject({ level: 0, peak: null });
  });

  test.each([
    [0, 0],
    [5, 1],
  ])("a line at no token is reached by the first one: %d tokens are at %d", (level, place) => {
    expect(hullOf(agent(level, 0, 100))!.level).toBe(place);
    expect(hullOf(agent(level, -20_000, 100))!.level).toBe(place);
  });

  test("marks are the thresholds besides the line", () => {
    const thresholds = [
      { name: "warning", label: "15%", tokens: 150, source: "policy" },
      { name: "ceiling", label: "20%", tokens: 200, source: "policy" },
      { name: "soft", label: "-1", tokens: -1, source: "policy" },
    ] as const;
    expect(hullOf({ ...agent(1, 200, 1000), thresholds: [...thresholds] })!.marks).toEqual([
      { name: "warning", tokens: 150, at: 0.75 * LINE_AT },
    ]);
  });
});
