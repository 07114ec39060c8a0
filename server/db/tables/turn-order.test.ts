import { arrange } from "@plimsoll/fold";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { plainTurn } from "../../testing/any-turns.ts";
import { numberTurns } from "./turn-order.ts";
import type { TurnRow } from "./turns.ts";

const COMPACTION = 32;

const keysOf = (turns: readonly TurnRow[]) => numberTurns(turns).map(({ turn: { key } }) => key);

describe("the order of turns", () => {
  it.each<[string, Partial<TurnRow>[], string[]]>([
    [
      "goes by window first",
      [
        { key: "a", windowIndex: 1, at: 1 },
        { key: "b", windowIndex: 0, at: 9 },
      ],
      ["b", "a"],
    ],
    [
      "goes by sequence number before time",
      [
        { key: "a", seq: 2, at: 1 },
        { key: "b", seq: 1, at: 9 },
      ],
      ["b", "a"],
    ],
    [
      "goes by time without sequence numbers",
      [
        { key: "a", at: 9 },
        { key: "b", at: 1 },
      ],
      ["b", "a"],
    ],
    [
      "goes by key as text at one time",
      [
        { key: "9", at: 1 },
        { key: "10", at: 1 },
        { key: "-5", at: 1 },
      ],
      ["-5", "10", "9"],
    ],
    [
      "puts a turn without a number after the highest that was reached",
      [
        { key: "a", at: 1, seq: 7 },
        { key: "b", at: 2, seq: 3 },
        { key: "c", at: 3 },
        { key: "d", at: 4, seq: 8 },
      ],
      ["b", "a", "c", "d"],
    ],
    [
      "counts a number of the same time as reached",
      [
        { key: "b", at: 1 },
        { key: "a", at: 1, seq: 5 },
      ],
      ["a", "b"],
    ],
    [
      "puts a turn before any number first",
      [
        { key: "a", at: 5, seq: 0 },
        { key: "b", at: 4 },
      ],
      ["b", "a"],
    ],
    [
      "does not count numbers of another window",
      [
        { key: "a", at: 1, seq: 9, windowIndex: 0 },
        { key: "b", at: 2, windowIndex: 1 },
        { key: "c", at: 1, seq: 2, windowIndex: 1 },
      ],
      ["a", "c", "b"],
    ],
  ])("%s", (_, given, expected) => {
    expect(keysOf(given.map(plainTurn))).toEqual(expected);
  });

  const rows = fc
    .array(
      fc.record({
        at: fc.integer({ min: 0, max: 12 }),
        windowIndex: fc.integer({ min: 0, max: 2 }),
        seq: fc.option(fc.integer({ min: 0, max: 6 }), { nil: undefined }),
        contextTokens: fc.option(fc.integer({ min: 0, max: 99 }), { nil: undefined }),
        facets: fc.constantFrom(0, 0, COMPACTION),
      }),
      { maxLength: 40 },
    )
    .map((fields) => fields.map((some, n) => plainTurn({ ...some, key: String(n) })));

  it("is the order of the protocol's timeline, whatever the order of the rows", () => {
    fc.assert(
      fc.property(
        rows.chain((given) =>
          fc.tuple(fc.constant(given), fc.shuffledSubarray(given, { minLength: given.length })),
        ),
        ([given, shuffled]) => {
          const facts = given.map(({ key, at, seq, windowIndex }) => ({
            key,
            at,
            model: "m",
            usage: {},
            seq,
            sentWindow: windowIndex,
            estimated: false,
            compaction: false,
          }));
          const { items } = arrange(facts as never, []);
          expect(keysOf(shuffled)).toEqual(items.map((item) => item.turn!.key));
        },
      ),
    );
  });

  it("numbers turns from 1 and compares each level with the level before", () => {
    fc.assert(
      fc.property(rows, (given) => {
        const numbered = numberTurns(given);
        expect(numbered.map(({ number }) => number)).toEqual(given.map((_, index) => index + 1));
        const levels = numbered.filter(
          ({ turn: { contextTokens, facets } }) => contextTokens !== undefined && facets !== COMPACTION,
        );
        for (const [index, { turn: level, change }] of levels.entries()) {
          const before = levels[index - 1];
          expect(change).toBe(
            before === undefined ? undefined : level.contextTokens! - before.turn.contextTokens!,
          );
        }
        const others = numbered.filter((one) => !levels.includes(one));
        expect(others.every(({ change }) => change === undefined)).toBe(true);
      }),
    );
  });
});
