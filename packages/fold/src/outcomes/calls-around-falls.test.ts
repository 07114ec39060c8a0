import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { callsAroundFalls, changeAtFalls, type SignalTurn, withReinjections } from "./calls-around-falls.ts";

const turn = (at: number, found = 0, more: Partial<SignalTurn> = {}): SignalTurn => ({
  ...{ at, level: 60_000, calls: 1, found },
  ...more,
});
const turns = (count: number, repeats: (n: number) => boolean = () => false) =>
  Array.from({ length: count }, (_, n) => turn(n, Number(repeats(n))));

describe("repeated work around a fall", () => {
  it("is counted in the 20 calls before and after it", () => {
    const all = turns(60, (n) => n === 10 || (n >= 30 && n < 36) || n === 55);
    expect(callsAroundFalls(all, [{ at: 30, type: "compacted", reinjected: false }])).toContainEqual({
      ...{ type: "compacted", reinjected: false, band: 2, points: 1 },
      ...{ callsBefore: 20, foundBefore: 1, callsAfter: 20, foundAfter: 6 },
    });
  });

  it("ends at the next fall, and says nothing of fewer than 10 calls", () => {
    const all = turns(60, () => true);
    const found = callsAroundFalls(all, [
      { at: 20, type: "compacted", reinjected: false },
      { at: 32, type: "masked", reinjected: false },
      { at: 36, type: "subtick", reinjected: false },
    ]).filter(({ type }) => type !== undefined);
    expect(found).toEqual([
      expect.objectContaining({ type: "compacted", callsBefore: 20, callsAfter: 12 }),
      // Four calls are between these two.
    ]);
  });

  it("is beside points at which nothing fell, of the same level", () => {
    const all = Array.from({ length: 140 }, (_, n) => turn(n, n % 2, { level: n < 60 ? 60_000 : 10_000 }));
    const found = callsAroundFalls(all, [{ at: 60, type: "compacted", reinjected: false }]);
    const placebo = found.filter(({ type }) => type === undefined);
    // The fall is in the calls before the point at 80.
    expect(placebo).toEqual([
      expect.objectContaining({ band: 2, points: 2, callsBefore: 40, foundBefore: 20, callsAfter: 40 }),
      expect.objectContaining({ band: 0, points: 2, callsBefore: 40, callsAfter: 40 }),
    ]);
  });

  it("is nothing without calls, and a fall before the first turn or after the last is none", () => {
    expect(callsAroundFalls([], [{ at: 1, type: "masked", reinjected: false }])).toEqual([]);
    const all = turns(50);
    expect(
      callsAroundFalls(all, [
        { at: -1, type: "masked", reinjected: false },
        { at: 99, type: "masked", reinjected: false },
      ]).every(({ type }) => type === undefined),
    ).toBe(true);
  });

  it("never counts a call twice on one side, nor more repeats than calls", () => {
    const anyTurn = fc
      .nat(4)
      .chain((calls) => fc.record({ calls: fc.constant(calls), found: fc.nat(calls) }));
    fc.assert(
      fc.property(
        fc.array(anyTurn, { maxLength: 80 }),
        fc.uniqueArray(fc.nat(80), { maxLength: 6 }),
        (all, at) => {
          const placed = all.map((one, n) => ({ at: n, level: 1_000 * n, ...one }));
          const falls = at
            .sort((a, b) => a - b)
            .map((time) => ({ at: time, type: "compacted" as const, reinjected: false }));
          for (const work of callsAroundFalls(placed, falls)) {
            expect(work.foundBefore).toBeLessThanOrEqual(work.callsBefore);
            expect(work.foundAfter).toBeLessThanOrEqual(work.callsAfter);
            // A turn that begins below 20 calls may end above.
            expect(work.callsAfter).toBeLessThanOrEqual(work.points * 23);
          }
        },
      ),
    );
  });
});

describe("falls after which rules were put back", () => {
  const compacted = (at: number) => ({ at, type: "compacted" as const });

  it("are compactions at most a minute from the event of a hook", () => {
    const falls = [compacted(100_000), { at: 100_000, type: "masked" as const }, compacted(300_000)];
    const put = (...times: number[]) => withReinjections(falls, times).map(({ reinjected }) => reinjected);
    expect(put()).toEqual([false, false, false]);
    expect(put(40_000)).toEqual([true, false, false]);
    expect(put(160_001, 239_999)).toEqual([false, false, false]);
    expect(put(300_500, 99_900)).toEqual([true, false, true]);
  });

  it("are counted apart, and compared each with the calls before it", () => {
    const all = turns(140, (n) => n >= 40 && n < 60);
    const own = callsAroundFalls(all, [
      { ...compacted(40), reinjected: false },
      { ...compacted(100), reinjected: true },
    ]);
    const change = (isOn: boolean) => changeAtFalls([own], ({ reinjected }) => reinjected === isOn);
    expect(change(false)).toMatchObject({ falls: 1, before: 0, after: 1 });
    expect(change(true)).toMatchObject({ falls: 1, before: 0, after: 0 });
    expect(changeAtFalls([own], () => false)).toBeUndefined();
  });
});

describe("lost work", () => {
  /** A session of 120 calls that repeats every tenth call, and in the 20 calls after the fall at 60 as often as given. */
  const session = (seed: number, after: number) =>
    callsAroundFalls(
      turns(120, (n) => (n >= 60 && n < 80 ? (n + seed) % 20 < after : (n * 7 + seed) % 10 === 0)),
      [{ at: 60, type: "compacted", reinjected: false }],
    );
  const sessions = (count: number, after: number) =>
    Array.from({ length: count }, (_, n) => session(n, after));

  it("is what is repeated after a fall more than before, beyond what is usual", () => {
    const found = changeAtFalls(sessions(40, 6))!;
    expect(found).toMatchObject({ falls: 40, sessions: 40, verdict: "rises" });
    expect(found.before).toBeCloseTo(0.1, 5);
    expect(found.after).toBeCloseTo(0.3, 5);
    expect(found.usualChange).toBeCloseTo(0, 5);
    expect(found.difference).toBeCloseTo(0.2, 5);
  });

  it("is none where repeats get more everywhere", () => {
    // Two more in each 20 calls than in the 20 before.
    const growing = (n: number) => n % 20 < 2 * Math.floor(n / 20);
    const own = callsAroundFalls(turns(120, growing), [{ at: 60, type: "compacted", reinjected: false }]);
    const without = callsAroundFalls(turns(120, growing), []);
    const found = changeAtFalls(Array.from({ length: 80 }, (_, n) => (n % 2 === 0 ? own : without)))!;
    expect(found.after - found.before).toBeCloseTo(0.1, 5);
    expect(found.usualChange).toBeCloseTo(0.1, 5);
    expect(found.difference).toBeCloseTo(0, 5);
  });

  it("says nothing of few sessions, and is unknown without a fall", () => {
    expect(changeAtFalls(sessions(12, 20))).toMatchObject({ verdict: "few_sessions" });
    expect(changeAtFalls([callsAroundFalls(turns(120), [])])).toBeUndefined();
    expect(changeAtFalls([])).toBeUndefined();
  });
});
