import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { STEADY_FOR, type SteadyOrder, steadyOrder } from "./steady-order.ts";

const NOW = Date.UTC(2026, 10, 24, 9);

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
