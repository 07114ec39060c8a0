import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { lostWork, repeatedWork, type WorkTurn } from "./repeated-work.ts";

const turn = (at: number, repeated = 0, more: Partial<WorkTurn> = {}): WorkTurn => ({
  ...{ at, level: 60_000, calls: 1, repeated },
  ...more,
});
const turns = (count: number, repeats: (n: number) => boolean = () => false) =>
  Array.from({ length: count }, (_, n) => turn(n, Number(repeats(n))));

describe("repeated work around a fall", () => {
  it("is counted in the 20 calls before and after it", () => {
    const all = turns(60, (n) => n === 10 || (n >= 30 && n < 36) || n === 55);
    expect(repeatedWork(all, [{ at: 30, type: "compacted" }])).toContainEqual({
      ...{ type: "compacted", band: 2, points: 1 },
      ...{ callsBefore: 20, repeatedBefore: 1, callsAfter: 20, repeatedAfter: 6 },
    });
  });

  it("ends at the next fall, and says nothing of fewer than 10 calls", () => {
    const all = turns(60, () => true);
    const found = repeatedWork(all, [
      { at: 20, type: "compacted" },
      { at: 32, type: "masked" },
      { at: 36, type: "subtick" },
    ]).filter(({ type }) => type !== undefined);
    expect(found).toEqual([
      expect.objectContaining({ type: "compacted", callsBefore: 20, callsAfter: 12 }),
      // Four calls are between these two.
    ]);
  });

  it("is beside points at which nothing fell, of the same level", () => {
    const all = Array.from({ length: 140 }, (_, n) => turn(n, n % 2, { level: n < 60 ? 60_000 : 10_000 }));
    const found = repeatedWork(all, [{ at: 60, type: "compacted" }]);
    const placebo = found.filter(({ type }) => type === undefined);
    // The fall is in the calls before the point at 80.
    expect(placebo).toEqual([
      expect.objectContaining({ band: 2, points: 2, callsBefore: 40, repeatedBefore: 20, callsAfter: 40 }),
      expect.objectContaining({ band: 0, points: 2, callsBefore: 40, callsAfter: 40 }),
    ]);
  });

  it("is nothing without calls, and a fall before the first turn or after the last is none", () => {
    expect(repeatedWork([], [{ at: 1, type: "masked" }])).toEqual([]);
    const all = turns(50);
    expect(
      repeatedWork(all, [
        { at: -1, type: "masked" },
        { at: 99, type: "masked" },
      ]).every(({ type }) => type === undefined),
    ).toBe(true);
  });

  it("never counts a call twice on one side, nor more repeats than calls", () => {
    const anyTurn = fc
      .nat(4)
      .chain((calls) => fc.record({ calls: fc.constant(calls), repeated: fc.nat(calls) }));
    fc.assert(
      fc.property(
        fc.array(anyTurn, { maxLength: 80 }),
        fc.uniqueArray(fc.nat(80), { maxLength: 6 }),
        (all, at) => {
          const placed = all.map((one, n) => ({ at: n, level: 1_000 * n, ...one }));
          const falls = at.sort((a, b) => a - b).map((time) => ({ at: time, type: "compacted" as const }));
          for (const work of repeatedWork(placed, falls)) {
            expect(work.repeatedBefore).toBeLessThanOrEqual(work.callsBefore);
            expect(work.repeatedAfter).toBeLessThanOrEqual(work.callsAfter);
            // A turn that begins below 20 calls may end above.
            expect(work.callsAfter).toBeLessThanOrEqual(work.points * 23);
          }
        },
      ),
    );
  });
});

describe("lost work", () => {
  /** A session of 120 calls that repeats every tenth call, and in the 20 calls after the fall at 60 as often as given. */
  const session = (seed: number, after: number) =>
    repeatedWork(
      turns(120, (n) => (n >= 60 && n < 80 ? (n + seed) % 20 < after : (n * 7 + seed) % 10 === 0)),
      [{ at: 60, type: "compacted" }],
    );
  const sessions = (count: number, after: number) =>
    Array.from({ length: count }, (_, n) => session(n, after));

  it("is what is repeated after a fall more than before, beyond what is usual", () => {
    const found = lostWork(sessions(40, 6))!;
    expect(found).toMatchObject({ falls: 40, sessions: 40, verdict: "rises" });
    expect(found.before).toBeCloseTo(0.1, 5);
    expect(found.after).toBeCloseTo(0.3, 5);
    expect(found.usualChange).toBeCloseTo(0, 5);
    expect(found.difference).toBeCloseTo(0.2, 5);
  });

  it("is none where repeats get more everywhere", () => {
    // Two more in each 20 calls than in the 20 before.
    const growing = (n: number) => n % 20 < 2 * Math.floor(n / 20);
    const own = repeatedWork(turns(120, growing), [{ at: 60, type: "compacted" }]);
    const without = repeatedWork(turns(120, growing), []);
    const found = lostWork(Array.from({ length: 80 }, (_, n) => (n % 2 === 0 ? own : without)))!;
    expect(found.after - found.before).toBeCloseTo(0.1, 5);
    expect(found.usualChange).toBeCloseTo(0.1, 5);
    expect(found.difference).toBeCloseTo(0, 5);
  });

  it("says nothing of few sessions, and is unknown without a fall", () => {
    expect(lostWork(sessions(12, 20))).toMatchObject({ verdict: "few_sessions" });
    expect(lostWork([repeatedWork(turns(120), [])])).toBeUndefined();
    expect(lostWork([])).toBeUndefined();
  });
});
