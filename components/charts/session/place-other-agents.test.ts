import type { ChartPoint } from "@plimsoll/protocol/api";
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { domainOf } from "./axis-domain.ts";
import { placeOtherAgents } from "./place-other-agents.ts";
import { shapeSaw } from "./shape.ts";

const START = Date.UTC(2026, 10, 20, 10);

function point(number: number, tokens: number | null, seconds = number * 10): ChartPoint {
  return {
    key: String(number),
    number,
    at: new Date(START + seconds * 1000).toISOString(),
    window: 0,
    context_tokens: tokens,
    window_tokens: 200_000,
    estimated: false,
    composition_estimated: false,
    composition: null,
  };
}

/** Turns of an agent at these seconds. Each level equals the turn number. */
const turnsAt = (...seconds: number[]) => seconds.map((second, index) => point(index + 1, index + 1, second));
const shown = (...seconds: number[]) => shapeSaw(turnsAt(...seconds), [], "turns").points;
const xs = (spots: readonly { x: number }[]) => spots.map(({ x }) => x);

describe("on the turn axis", () => {
  test.each<[string, number[], number[]]>([
    ["at a turn", [10], [1]],
    ["between two turns, interpolated by time", [15, 25, 29], [1.5, 2.5, 2.9]],
    ["at the last turn", [30], [3]],
    ["after the last turn, one turn apart", [31, 99], [4, 5]],
    ["before the first turn, one turn apart", [-500, 9], [-1, 0]],
    ["after the last turn, at the same time", [40, 40, 40], [3 + 2 / 3, 3 + 4 / 3, 5]],
    ["before, between and after", [5, 20, 50], [0, 2, 4]],
    ["in turn order if the clock went back", [31, 25], [4, 5]],
  ])("%s", (_, seconds, expected) => {
    const { agents } = placeOtherAgents([turnsAt(...seconds)], shown(10, 20, 30), "turns");
    expect(xs(agents[0]!)).toEqual(expected.map((x) => expect.closeTo(x)));
  });

  test("turns of several agents after the last turn are ordered by time", () => {
    const main = shown(...Array.from({ length: 21 }, (_, index) => index * 10));
    const { agents, before, after } = placeOtherAgents(
      [turnsAt(210, 230), turnsAt(190, 220, 230)],
      main,
      "turns",
    );
    expect(agents.map(xs)).toEqual([
      [22, 24],
      [20, 23, 25],
    ]);
    expect(before).toBeNull();
    expect(after).toEqual({ from: 21, to: 25 });
  });

  test("many later turns are compressed, so that the selected agent keeps two thirds of the width", () => {
    const main = shown(...Array.from({ length: 21 }, (_, index) => index * 10));
    const many = turnsAt(...Array.from({ length: 400 }, (_, index) => 300 + index));
    const { agents, after } = placeOtherAgents([many], main, "turns");
    expect(after).toEqual({ from: 21, to: 31 });
    expect(agents[0]!.at(-1)!.x).toBeCloseTo(31);
  });

  test("a single turn leaves room for later turns", () => {
    const { agents, after } = placeOtherAgents([turnsAt(20, 30, 40, 50)], shown(10), "turns");
    expect(xs(agents[0]!)).toEqual([1.5, 2, 2.5, 3]);
    expect(after).toEqual({ from: 1, to: 3 });
  });
});

test("on the time axis each turn is at its own time", () => {
  const { agents, before, after } = placeOtherAgents([turnsAt(5, 90)], shown(10), "time");
  expect(xs(agents[0]!)).toEqual([START + 5_000, START + 90_000]);
  expect([before, after]).toEqual([null, null]);
});

test("uncounted turns are left out", () => {
  const { agents } = placeOtherAgents([[point(1, null)], []], shown(10), "turns");
  expect(agents).toEqual([[], []]);
});

/** Arbitrary turns, with ties and clocks that go back, and gaps in the numbers as after downsampling. */
const anyTurns = (from: number) =>
  fc
    .array(fc.record({ gap: fc.integer({ min: 1, max: 9 }), second: fc.integer({ min: 0, max: 60 }) }), {
      minLength: from,
      maxLength: 40,
    })
    .map((turns) => {
      let number = 0;
      return turns.map(({ gap, second }) => {
        number += gap;
        return point(number, number, second);
      });
    });

test("turns keep their order, outside turns have distinct positions, and the axis covers all of them", () => {
  fc.assert(
    fc.property(fc.array(anyTurns(0), { maxLength: 4 }), anyTurns(1), (others, own) => {
      const saw = shapeSaw(own, [], "turns");
      const first = saw.points[0]!;
      const last = saw.points.at(-1)!;
      const placed = placeOtherAgents(others, saw.points, "turns");
      const [from, to] = domainOf(saw, placed, null, "turns");
      expect(placed.agents.map((spots) => spots.length)).toEqual(others.map(({ length }) => length));
      for (const [agent, spots] of placed.agents.entries()) {
        expect(spots.map(({ y }) => y)).toEqual(others[agent]!.map(({ context_tokens }) => context_tokens));
        for (const [index, { x }] of spots.entries()) {
          expect(x).toBeGreaterThanOrEqual(from);
          expect(x).toBeLessThanOrEqual(to);
          const before = spots[index - 1]?.x ?? Number.NEGATIVE_INFINITY;
          const outside = x > last.x || x < first.x;
          if (outside) expect(x).toBeGreaterThan(before);
          else expect(x).toBeGreaterThanOrEqual(before);
        }
      }
      const outside = placed.agents.flatMap(xs).filter((x) => x > last.x || x < first.x);
      expect(new Set(outside).size).toBe(outside.length);
      // The selected agent keeps at least half of the width, or two turns on each side.
      const outsideWidth = to - from - (last.x - first.x);
      expect(outsideWidth).toBeLessThanOrEqual(Math.max(last.x - first.x, 4) + 1e-9);
    }),
  );
});

test("the axis covers everything drawn", () => {
  const alone = { agents: [], before: null, after: null };
  const saw = shapeSaw([point(1, 100), point(2, 200)], [], "turns");
  expect(domainOf(saw, alone, null, "turns")).toEqual([1, 2]);
  const surrounding = { agents: [[{ x: -3, y: 1 }]], before: { from: -3, to: 1 }, after: { from: 2, to: 5 } };
  expect(domainOf(saw, surrounding, null, "turns")).toEqual([-3, 5]);
  expect(domainOf(saw, alone, { from: { x: 2, y: 0 }, to: { x: 9, y: 0 } }, "turns")).toEqual([1, 9]);
  expect(domainOf(shapeSaw([point(7, 100)], [], "turns"), alone, null, "turns")).toEqual([6, 8]);
});
