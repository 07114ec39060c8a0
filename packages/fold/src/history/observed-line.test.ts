import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { type AutomaticFall, distinctFalls, judgeLine, observedLine } from "./observed-line.ts";

const falls = (...levels: number[]): AutomaticFall[] => levels.map((tokens, at) => ({ at, tokens }));

describe("the observed line", () => {
  test.each([
    ["nothing", [], undefined],
    ["one fall", [167_000], { falls: 1, of: 1, lowest: 167_000, highest: 167_000 }],
    [
      "falls at one level",
      [161_000, 168_000, 165_000],
      { falls: 3, of: 3, lowest: 161_000, highest: 168_000 },
    ],
    [
      "an outlier below and one above",
      [31_000, 161_000, 168_000, 165_000, 900_000],
      { falls: 3, of: 5, lowest: 161_000, highest: 168_000 },
    ],
    ["two levels", [87_000, 86_000, 165_000, 85_000], { falls: 3, of: 4, lowest: 85_000, highest: 87_000 }],
    // The latest fall decides between two ranges of one size.
    ["a tie", [165_000, 166_000, 85_000, 86_000], { falls: 2, of: 4, lowest: 85_000, highest: 86_000 }],
    ["impossible levels", [0, -5, 90_000], { falls: 1, of: 1, lowest: 90_000, highest: 90_000 }],
  ])("of %s", (_name, levels, expected) => {
    const observed = observedLine(falls(...levels));
    if (expected === undefined) expect(observed).toBeUndefined();
    else expect(observed).toMatchObject(expected);
  });

  const anyFalls = fc.array(
    fc.record({ at: fc.integer({ min: 0, max: 50 }), tokens: fc.integer({ min: 1, max: 400_000 }) }),
    { minLength: 1, maxLength: 40 },
  );

  test("is the largest narrow range, in any order of the falls", () => {
    fc.assert(
      fc.property(
        anyFalls.chain((all) =>
          fc.tuple(fc.constant(all), fc.shuffledSubarray(all, { minLength: all.length })),
        ),
        ([all, shuffled]) => {
          const observed = observedLine(all)!;
          expect(observedLine(shuffled)).toEqual(observed);
          expect(observed.lowest).toBeGreaterThanOrEqual(observed.highest * 0.85);
          expect(observed.of).toBe(all.length);
          expect(all.map(({ tokens }) => tokens)).toContain(observed.median);
          const within = (highest: number) =>
            all.filter(({ tokens }) => tokens <= highest && tokens >= highest * 0.85).length;
          expect(observed.falls).toBe(within(observed.highest));
          for (const { tokens } of all) expect(within(tokens)).toBeLessThanOrEqual(observed.falls);
        },
      ),
    );
  });

  test("does not move for fewer falls elsewhere", () => {
    fc.assert(
      fc.property(fc.integer({ min: 1, max: 9 }), fc.integer({ min: 1, max: 60_000 }), (count, elsewhere) => {
        const own = Array.from({ length: 10 }, (_, at) => ({ at, tokens: 160_000 + at * 800 }));
        const others = Array.from({ length: count }, (_, at) => ({ at: 100 + at, tokens: elsewhere }));
        expect(observedLine([...own, ...others])).toMatchObject({
          falls: 10,
          lowest: 160_000,
          highest: 167_200,
        });
      }),
    );
  });
});

describe("a fall reported twice", () => {
  const fall = (agent: number, at: number, tokens: number) => ({ agent, at, tokens });

  test("counts once, and only for the same agent, level and minute", () => {
    const all = [
      fall(1, 70_000, 167_000),
      fall(1, 0, 167_000),
      fall(1, 5_000, 167_000),
      fall(2, 5_000, 167_000),
      fall(1, 5_000, 166_000),
    ];
    expect(distinctFalls(all)).toEqual([
      fall(1, 0, 167_000),
      fall(1, 5_000, 166_000),
      fall(2, 5_000, 167_000),
      fall(1, 70_000, 167_000),
    ]);
  });
});

describe("the verdict", () => {
  const range = (falls: number, lowest: number, highest: number, of = falls) => ({
    falls,
    of,
    lowest,
    highest,
  });

  test.each([
    ["one fall far below", range(1, 87_000, 87_000), 167_000, "too_few"],
    ["two falls far below", range(2, 85_000, 87_000), 167_000, "too_few"],
    ["three falls far below", range(3, 85_000, 87_000), 167_000, "earlier"],
    ["falls at the line", range(12, 161_000, 168_000), 167_000, "agrees"],
    ["the turn before the line", range(12, 151_000, 158_000), 167_000, "agrees"],
    ["falls far above", range(5, 300_000, 320_000), 167_000, "later"],
    ["one of several at the line", range(5, 160_000, 180_000), 167_000, "agrees"],
    ["half of the falls elsewhere", range(5, 85_000, 87_000, 10), 167_000, "scattered"],
    ["an unknown line", range(5, 85_000, 87_000), undefined, "no_line"],
    ["a harness that is off", range(5, 160_000, 168_000), "off", "not_off"],
    ["one fall of a harness that is off", range(1, 160_000, 168_000), "off", "too_few"],
  ] as const)("of %s", (_name, observed, line, verdict) => {
    expect(judgeLine(observed, line)).toBe(verdict);
  });
});
