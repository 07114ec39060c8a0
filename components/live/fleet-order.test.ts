import type { FleetAgent } from "@plimsoll/protocol/api";
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import {
  type FleetSort,
  isSilent,
  minutesToLine,
  STEADY_FOR,
  type SteadyOrder,
  sortFleet,
  steadyOrder,
} from "./fleet-order.ts";

const NOW = Date.UTC(2026, 10, 24, 9);
const NO_FORECAST: FleetAgent["forecast"] = {
  reason: "no_trend",
  turns: null,
  growth: null,
  minutes: null,
  end_turns: null,
  end_minutes: null,
};

interface Shape {
  silentMs?: number;
  suspect?: boolean;
  tokens?: number;
  forecast?: Partial<FleetAgent["forecast"]>;
}

/** An agent with its line at 1,000 tokens. */
function agent(id: string, load: number | null, shape: Shape = {}): FleetAgent {
  return {
    id,
    load,
    line: load === null ? null : { threshold: "hard", tokens: 1000, kind: "hard", source: "policy" },
    context_tokens: shape.tokens ?? (load === null ? null : load * 1000),
    window_suspect: shape.suspect ?? false,
    active_at: new Date(NOW - (shape.silentMs ?? 0)).toISOString(),
    forecast: { ...NO_FORECAST, ...shape.forecast },
  } as FleetAgent;
}
const order = (fleet: readonly FleetAgent[], sort: FleetSort) =>
  sortFleet(fleet, sort, NOW).map(({ id }) => id);

test("an agent is silent after 10 minutes", () => {
  expect(isSilent(agent("a", 1, { silentMs: 599_999 }), NOW)).toBe(false);
  expect(isSilent(agent("a", 1, { silentMs: 600_000 }), NOW)).toBe(true);
  expect(isSilent(agent("a", 1, { silentMs: -60_000 }), NOW)).toBe(false);
});

test("silent agents sink below suspect ones, and those below the others", () => {
  const fleet = [
    agent("silent", 2, { silentMs: 700_000 }),
    agent("suspect", 5, { suspect: true }),
    agent("silent suspect", 9, { silentMs: 700_000, suspect: true }),
    agent("unknown", null),
    agent("low", 0.1),
    agent("equal 1", 0.5),
    agent("equal 2", 0.5),
  ];
  expect(order(fleet, "load")).toEqual([
    "equal 1",
    "equal 2",
    "low",
    "unknown",
    "suspect",
    "silent suspect",
    "silent",
  ]);
});

const rising = (turns: number, minutes: number | null = null) => ({
  forecast: { reason: "rising" as const, turns, minutes },
});

test.each([
  ["past its line", agent("a", 1.2), 0],
  ["at its line", agent("a", 1), 0],
  ["rising at a known pace", agent("a", 0.5, rising(9, 3)), 3],
  ["rising at no known pace", agent("a", 0.5, rising(9)), 9],
  ["steady", agent("a", 0.99), Number.POSITIVE_INFINITY],
  ["without a line", agent("a", null), Number.POSITIVE_INFINITY],
])("%s: %#", (_, one, minutes) => {
  expect(minutesToLine(one)).toBe(minutes);
});

test("each order has the first reason to look on top", () => {
  const fleet = [
    agent("high", 0.9, { silentMs: 4_000 }),
    agent("soon", 0.4, { ...rising(3, 1), silentMs: 3_000 }),
    agent("later", 0.8, { ...rising(30, 20), silentMs: 2_000 }),
    agent("past", 1.1, { silentMs: 5_000 }),
    agent("further past", 1.3, { silentMs: 6_000 }),
    agent("no line", null, { tokens: 900_000, silentMs: 1_000 }),
  ];
  expect(order(fleet, "line")).toEqual(["further past", "past", "soon", "later", "high", "no line"]);
  expect(order(fleet, "load")).toEqual(["further past", "past", "high", "later", "soon", "no line"]);
  expect(order(fleet, "tokens")[0]).toBe("no line");
  expect(order(fleet, "last")[0]).toBe("no line");
  expect(order(fleet, "last").at(-1)).toBe("further past");
});

describe("steadyOrder", () => {
  const shown = (...ids: string[]): SteadyOrder => ({ ids, since: NOW });
  const early = { now: NOW + STEADY_FOR - 1, held: false };
  const due = { now: NOW + STEADY_FOR, held: false };

  test("rows change places after ten seconds, and then not for another ten", () => {
    const before = shown("a", "b", "c");
    expect(steadyOrder(before, ["c", "a", "b"], early)).toBe(before);
    const after = steadyOrder(before, ["c", "a", "b"], due);
    expect(after).toEqual({ ids: ["c", "a", "b"], since: due.now });
    expect(steadyOrder(after, ["a", "b", "c"], { ...due, now: due.now + STEADY_FOR - 1 })).toBe(after);
  });

  test("agents come and go at once, in their places", () => {
    expect(steadyOrder(shown("a", "b", "c"), ["c", "new", "a"], early).ids).toEqual(["a", "c", "new"]);
    expect(steadyOrder(shown("a", "b"), ["new", "b", "a"], early).ids).toEqual(["new", "a", "b"]);
    expect(steadyOrder(shown(), ["x", "y"], early).ids).toEqual(["x", "y"]);
  });

  test("held rows stay for as long as they are held, and new ones follow them", () => {
    const before = shown("a", "b");
    const held = { now: NOW + 60 * STEADY_FOR, held: true };
    expect(steadyOrder(before, ["b", "a"], held)).toBe(before);
    expect(steadyOrder(before, ["new", "b", "a"], held).ids).toEqual(["a", "b", "new"]);
    expect(steadyOrder(before, ["b", "a"], { ...held, held: false }).ids).toEqual(["b", "a"]);
  });

  test("whatever arrives, every agent has one row, and rows change places once in ten seconds", () => {
    const ids = fc.uniqueArray(fc.constantFrom(..."abcdefgh"));
    const step = fc.record({ wanted: ids, passed: fc.integer({ min: 0, max: 15_000 }), held: fc.boolean() });
    fc.assert(
      fc.property(fc.array(step, { maxLength: 40 }), (steps) => {
        let now = NOW;
        let current: SteadyOrder = { ids: [], since: NOW };
        let moved = Number.NEGATIVE_INFINITY;
        for (const { wanted, passed, held } of steps) {
          now += passed;
          const next = steadyOrder(current, wanted, { now, held });
          expect([...next.ids].sort()).toEqual([...wanted].sort());
          if (changesPlaces(current.ids, next.ids)) {
            expect(held).toBe(false);
            expect(now - moved).toBeGreaterThanOrEqual(STEADY_FOR);
            moved = now;
          }
          current = next;
        }
      }),
    );
  });

  test("in two minutes of a busy fleet the order changes at most 12 times, not 120", () => {
    const fleet = Array.from({ length: 31 }, (_, index) => ({ id: `agent-${index}`, load: index / 31 }));
    let current: SteadyOrder = { ids: fleet.map(({ id }) => id), since: NOW };
    let [moves, wantedMoves] = [0, 0];
    let wantedBefore = current.ids;
    for (let second = 1; second <= 120; second += 1) {
      const working = fleet[(second * 7) % 31]!;
      working.load = (working.load + 0.31) % 1.2;
      const wanted = fleet.toSorted((a, b) => b.load - a.load).map(({ id }) => id);
      const next = steadyOrder(current, wanted, { now: NOW + second * 1000, held: false });
      if (changesPlaces(wantedBefore, wanted)) wantedMoves += 1;
      if (changesPlaces(current.ids, next.ids)) moves += 1;
      wantedBefore = wanted;
      current = next;
    }
    expect(wantedMoves).toBeGreaterThan(100);
    expect(moves).toBeLessThanOrEqual(12);
    expect(moves).toBeGreaterThan(8);
  });
});

/** Whether rows that are in both lists stand in another order. */
function changesPlaces(before: readonly string[], after: readonly string[]): boolean {
  const both = before.filter((id) => after.includes(id));
  return after.filter((id) => before.includes(id)).some((id, index) => id !== both[index]);
}
