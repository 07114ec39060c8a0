import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { grainFor, piecesOf, stepFor } from "./buckets.ts";

const HOUR = 3_600_000;
const span = (hours: number) => ({ from: 0, to: hours * HOUR });

describe("the step of a series", () => {
  it.each([
    [1, 60],
    [6, 300],
    [24, 900],
    [24 * 7, 10_800],
    [24 * 30, 21_600],
    [24 * 365, 604_800],
  ])("for %i hours is %i s", (hours, step) => {
    expect(stepFor(span(hours), undefined)).toBe(step);
  });

  it("keeps the step asked for while it gives at most 1,000 buckets", () => {
    expect(stepFor(span(24), 120)).toBe(120);
    expect(stepFor(span(24 * 30), 60)).toBe(3_600);
  });

  it("never gives more than 1,000 buckets and always has rollup rows fine enough", () => {
    fc.assert(
      fc.property(
        fc.integer({ min: 1, max: 24 * 3650 }),
        fc.option(fc.integer({ min: 60, max: 2_678_400 }), { nil: undefined }),
        (hours, asked) => {
          const step = stepFor(span(hours), asked);
          expect((hours * 3_600) / step).toBeLessThanOrEqual(1_000);
          if (step >= 60 && step % 60 === 0) expect(step % (grainFor(step) * 60)).toBe(0);
          else expect(grainFor(step)).toBe(1);
        },
      ),
    );
  });
});

describe("the buckets that make up a span", () => {
  const at = (text: string) => Date.parse(`2026-11-${text}Z`);
  const spanned = (from: string, to: string) =>
    piecesOf({ from: at(from), to: at(to) }).map((piece) => [
      piece.grain,
      new Date(piece.from).toISOString().slice(8, 16),
      new Date(piece.to).toISOString().slice(8, 16),
    ]);

  it("are long in the middle and short at both ends", () => {
    expect(spanned("19T10:44:00", "20T15:31:00")).toEqual([
      [1, "19T10:44", "19T10:45"],
      [15, "19T10:45", "19T11:00"],
      [60, "19T11:00", "19T12:00"],
      [360, "19T12:00", "20T12:00"],
      [60, "20T12:00", "20T15:00"],
      [15, "20T15:00", "20T15:30"],
      [1, "20T15:30", "20T15:31"],
    ]);
    expect(spanned("19T10:07:30", "19T10:09:30")).toEqual([[1, "19T10:07", "19T10:09"]]);
  });

  it("leave no minute out and count none twice", () => {
    const minute = 60_000;
    fc.assert(
      fc.property(fc.nat(3_000_000_000), fc.integer({ min: 1, max: 200_000_000 }), (from, length) => {
        const to = from + length;
        const pieces = piecesOf({ from, to });
        let reached = Math.floor(from / minute) * minute;
        for (const piece of pieces) {
          expect(piece.from).toBe(reached);
          expect(piece.to).toBeGreaterThan(piece.from);
          expect(piece.from % (piece.grain * minute)).toBe(0);
          if (piece.grain > 1) expect(piece.to % (piece.grain * minute)).toBe(0);
          reached = piece.to;
        }
        expect(reached).toBe(to);
      }),
    );
  });
});
