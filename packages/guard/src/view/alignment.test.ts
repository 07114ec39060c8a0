import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { align, placeOf, placeOfCut, type Trail } from "./alignment.ts";

/** Messages as numbers. The agent's are even. */
const trail = (messages: readonly number[], loose = messages): Trail => ({ exact: messages, loose });
const range = (from: number, to: number) => Array.from({ length: to - from }, (_, n) => from + n);
const aligned = (before: readonly number[], now: readonly number[]) =>
  align(trail(before), trail(now), (index) => now[index]! % 2 === 0);

const TALK = range(1, 21);

describe("a history", () => {
  it.each<[string, number[], string, cut: number | undefined]>([
    ["is what it was", TALK, "grown", 10],
    ["grew", [...TALK, 21, 22], "grown", 10],
    ["lost its last answer", range(1, 20), "rewound", 10],
    ["was forked after the cut", [...range(1, 13), 91, 92], "rewound", 10],
    ["was taken back to the cut", range(1, 11), "rewound", 10],
    ["was taken back before the cut", range(1, 8), "rewound", undefined],
    ["was forked before the cut", [...range(1, 8), 91, 92], "rewound", undefined],
    ["lost its oldest messages", range(5, 25), "trimmed", 6],
    ["lost more than the cut", range(15, 25), "trimmed", 0],
    ["kept its first message and the newest", [1, ...range(15, 25)], "trimmed", 1],
    ["kept its first message and some before the cut", [1, ...range(8, 25)], "trimmed", 4],
    ["was edited after the cut", [...range(1, 14), 99, ...range(15, 25)], "edited", 10],
    ["was edited before the cut", [...range(1, 5), 99, ...range(6, 25)], "edited", undefined],
    ["got a message before all others", [99, ...TALK], "edited", undefined],
    ["got a summary for its oldest messages", [99, ...range(12, 25)], "edited", undefined],
    ["is another one", range(101, 110), "reset", undefined],
    ["begins with a word that was said elsewhere", [7, ...range(101, 110)], "reset", undefined],
    ["is empty", [], "reset", undefined],
  ])("that %s", (_, now, change, cut) => {
    const alignment = aligned(TALK, now);
    expect(alignment.change).toBe(change);
    expect(placeOfCut(alignment, 10)).toBe(cut);
  });

  it("that begins is not another one", () => {
    expect(aligned([], TALK)).toMatchObject({ change: "grown", pieces: [] });
  });

  it("is the same after results and arguments were shortened", () => {
    const before = trail(range(1, 21), range(1, 21));
    const now = trail([...range(101, 111), ...range(11, 21)], range(1, 21));
    const alignment = align(before, now, () => true);
    expect(alignment).toMatchObject({ change: "grown", exact: 10 });
    expect(placeOfCut(alignment, 5)).toBe(5);
  });

  it("whose messages repeat is found by the longest piece", () => {
    const before = [1, 2, 4, 2, 4, 2, 4, 2, 6, 8];
    expect(placeOfCut(aligned(before, before.slice(3)), 5)).toBe(2);
  });

  it("of thousands of equal messages is compared in no time", () => {
    const same = Array.from({ length: 20_000 }, () => 2);
    expect(aligned([1, ...same], [3, ...same]).exact).toBeGreaterThan(19_000);
  });
});

describe("the place of a cut", () => {
  const message = fc.integer({ min: 1, max: 30 });
  const change = fc.record({
    drop: fc.integer({ min: 0, max: 12 }),
    keep: fc.integer({ min: 0, max: 3 }),
    back: fc.integer({ min: 0, max: 6 }),
    edit: fc.option(fc.integer({ min: 0, max: 20 }), { nil: undefined }),
    added: fc.array(message, { maxLength: 6 }),
  });

  it("leaves out nothing that was not before it", () => {
    fc.assert(
      fc.property(
        fc.array(message, { maxLength: 24 }),
        change,
        fc.integer({ min: 1, max: 24 }),
        (before, { drop, keep, back, edit, added }, cut) => {
          fc.pre(cut <= before.length);
          const left = before.slice(0, before.length - back);
          const now = [...left.slice(0, keep), ...left.slice(keep + drop), ...added];
          if (edit !== undefined && edit < now.length) now[edit] = 500 + edit;
          const at = placeOfCut(aligned(before, now), cut);
          if (at === undefined) return;
          // What is hidden was summarised, in this order.
          const summarised = before.slice(0, cut);
          let from = 0;
          for (const hidden of now.slice(0, at)) {
            from = summarised.indexOf(hidden, from) + 1;
            expect(from).toBeGreaterThan(0);
          }
        },
      ),
      { numRuns: 2_000 },
    );
  });

  it("stays with its message wherever that moves", () => {
    fc.assert(
      fc.property(
        fc.integer({ min: 4, max: 60 }),
        fc.integer({ min: 0, max: 60 }),
        fc.integer({ min: 0, max: 60 }),
        fc.integer({ min: 0, max: 60 }),
        (length, dropped, cut, added) => {
          fc.pre(dropped < length - 2 && cut <= length && cut >= 1);
          const before = range(1, length + 1);
          const now = [...before.slice(dropped), ...range(1_000, 1_000 + added)];
          const alignment = aligned(before, now);
          expect(placeOfCut(alignment, cut)).toBe(Math.max(0, cut - dropped));
          for (const [index, one] of before.entries())
            expect(placeOf(alignment, index)).toBe(index < dropped ? undefined : now.indexOf(one));
        },
      ),
    );
  });
});
