import fc from "fast-check";
import { describe, expect, it } from "vitest";
import type { FallFacts } from "./fall.ts";
import { type FallSequel, fallWorth, thrashes } from "./fall-worth.ts";

/** Per million tokens: 5 dollars of input, 0.5 read, 6.25 written, 25 of output. */
const OPUS = "claude-opus-4-6";
const FACTS: FallFacts = { turns: 40, refill: undefined, model: OPUS, read: 10_000, summary: undefined };
const SEQUEL: FallSequel = { turns: 50, refill: undefined, isOver: true };

const worth = (
  facts: Partial<FallFacts> = {},
  sequel: Partial<FallSequel> = {},
  before = 110_000,
  after = 30_000,
) =>
  fallWorth(
    { tokensBefore: before, tokensAfter: after, fall: { ...FACTS, ...facts } },
    { ...SEQUEL, ...sequel },
  );

describe("a fall", () => {
  it("costs what had to be written to the cache above reading it, and saves what is not read any more", () => {
    const { rewriteUsd, savedPerTurnUsd, summaryUsd, breakEvenTurns, outcome } = worth();
    expect(rewriteUsd).toBeCloseTo((20_000 * 5.75) / 1e6, 10);
    expect(savedPerTurnUsd).toBeCloseTo((80_000 * 0.5) / 1e6, 10);
    expect(summaryUsd).toBeUndefined();
    // 0.115 dollars by 0.04 a turn.
    expect({ breakEvenTurns, outcome }).toEqual({ breakEvenTurns: 3, outcome: "paid_back" });
  });

  it("costs more where the first prompt, or the summary, was written to a cache for an hour", () => {
    expect(worth({ hour: 15_000 }).rewriteUsd).toBeCloseTo((15_000 * 9.5 + 5_000 * 5.75) / 1e6, 10);
    // The turn may have written more than the fall cost.
    expect(worth({ hour: 900_000 }).rewriteUsd).toBeCloseTo((20_000 * 9.5) / 1e6, 10);
    const calls = { model: OPUS, calls: 1, prompt: 9_000, fresh: 0, read: 0, written: 9_000, output: 0 };
    expect(worth({ summary: calls }).summaryUsd).toBeCloseTo((9_000 * 6.25) / 1e6, 10);
    expect(worth({ summary: { ...calls, hour: 4_000 } }).summaryUsd).toBeCloseTo(
      (5_000 * 6.25 + 4_000 * 10) / 1e6,
      10,
    );
  });

  it("costs the calls that wrote its summary, too", () => {
    const calls = {
      model: OPUS,
      calls: 1,
      prompt: 111_000,
      fresh: 1_000,
      read: 110_000,
      written: 0,
      output: 4_000,
    };
    const { summaryUsd, breakEvenTurns } = worth({ summary: calls });
    expect(summaryUsd).toBeCloseTo((1_000 * 5 + 110_000 * 0.5 + 4_000 * 25) / 1e6, 10);
    // 0.275 dollars by 0.04 a turn.
    expect(breakEvenTurns).toBe(7);
  });

  it.each<[string, Partial<FallSequel>, string]>([
    ["is paid back at the turn that saves the rest", { turns: 3 }, "paid_back"],
    ["is never paid back if the next fall comes sooner", { turns: 2 }, "not_paid_back"],
    ["may still be paid back", { turns: 2, isOver: false }, "pending"],
    ["is paid back before the next fall has come", { turns: 3, isOver: false }, "paid_back"],
  ])("%s", (_, sequel, outcome) => {
    expect(worth({}, sequel).outcome).toBe(outcome);
  });

  it("that freed nothing is never paid back", () => {
    expect(worth({}, {}, 30_000, 30_000)).toMatchObject({
      breakEvenTurns: undefined,
      outcome: "not_paid_back",
    });
  });

  it.each<[string, Parameters<typeof worth>]>([
    ["nobody counts cached reads", [{ read: undefined }]],
    ["the model is not listed", [{ model: "my-own-model" }]],
    ["the level before is not known", [{}, {}, undefined as never]],
  ])("has an unknown worth if %s", (_, [facts, sequel, ...levels]) => {
    const { outcome } =
      levels.length > 0
        ? fallWorth({ tokensBefore: undefined, tokensAfter: 1, fall: FACTS }, SEQUEL)
        : worth(facts, sequel);
    expect(outcome).toBe("unknown");
  });

  it("is paid back exactly when what it saved is at least what it cost", () => {
    const tokens = fc.integer({ min: 1, max: 190_000 });
    fc.assert(
      fc.property(tokens, tokens, fc.nat(190_000), fc.nat(400), (before, after, read, turns) => {
        const { outcome, rewriteUsd, savedPerTurnUsd } = worth({ read }, { turns }, before, after);
        const paid = savedPerTurnUsd! > 0 && turns * savedPerTurnUsd! >= rewriteUsd! - 1e-12;
        // Whole turns: at the border, both are right.
        if (Math.abs(turns * savedPerTurnUsd! - rewriteUsd!) > 1e-9)
          expect(outcome).toBe(paid ? "paid_back" : "not_paid_back");
      }),
    );
  });
});

describe("a thrash", () => {
  const fall = (type: string, refill?: number) => ({ type, sequel: { turns: 9, refill, isOver: true } });
  it.each<[string, ReturnType<typeof fall>[], boolean[]]>([
    [
      "is complete with the third compaction",
      [fall("compacted", 5), fall("compacted", 1), fall("compacted", 3)],
      [false, false, true],
    ],
    [
      "ends with one that lasts",
      [fall("compacted", 1), fall("compacted", 6), fall("compacted", 1)],
      [false, false, false],
    ],
    [
      "ends with one that was never full again",
      [fall("compacted", 1), fall("compacted"), fall("compacted", 1)],
      [false, false, false],
    ],
    [
      "is of compactions alone",
      [fall("compacted", 1), fall("masked", 1), fall("compacted", 1), fall("compacted", 1)],
      [false, false, false, false],
    ],
    ["goes on", Array.from({ length: 4 }, () => fall("compacted", 2)), [false, false, true, true]],
  ])("%s", (_, falls, expected) => {
    expect(thrashes(falls)).toEqual(expected);
  });
});
