import fc from "fast-check";
import { describe, expect, it } from "vitest";
import {
  cellCode,
  cellPlace,
  LEVEL_BANDS,
  type OutcomeCell,
  OutcomeCells,
  POSITION_BANDS,
  SHARE_BANDS,
} from "./cells.ts";
import { clearestSplit, qualityOf } from "./quality.ts";
import { signalCells } from "./signal-cells.ts";

/** Numbers that look random, the same ones each time. */
function* noise() {
  for (let state = 1; ; state = (state * 48_271) % 2_147_483_647) yield state / 2_147_483_647;
}

/** Sessions of one call a turn whose level grows by `step` tokens, each failing with the chance that `chanceOf` gives. */
function sessions(
  count: number,
  turnsOf: (session: number) => number,
  step: number,
  chanceOf: (at: { level: number; number: number; session: number }) => number,
): OutcomeCell[][] {
  const random = noise();
  return Array.from({ length: count }, (_, session) => {
    const cells = new OutcomeCells();
    for (let number = 1; number <= turnsOf(session); number++) {
      const level = number * step;
      const failed = random.next().value! < chanceOf({ level, number, session }) ? 1 : 0;
      cells.add({ number, level, share: level / 200_000, outcome: { calls: 1, failed } });
    }
    return cells.cells();
  });
}

describe("what a signal has to do with the level", () => {
  it("is a rise from a level on, if calls fail more often there", () => {
    // Levels grow at different speeds, so one place in a session has many levels.
    const found = Array.from({ length: 4 }, (_, speed) =>
      sessions(
        30,
        () => 120,
        500 * (speed + 1),
        ({ level }) => (level >= 50_000 ? 0.15 : 0.05),
      ),
    ).flat();
    const { levelSplits, levels, rate } = qualityOf(signalCells(found, "failed"));
    const split = clearestSplit(levelSplits)!;
    expect(split).toMatchObject({ at: 50_000, verdict: "rises" });
    expect(split.sessions).toBe(120);
    expect(split.difference).toBeGreaterThan(0.07);
    expect(split.difference).toBeLessThan(0.13);
    expect(split.low).toBeLessThan(0.1);
    expect(split.high).toBeGreaterThan(0.1);
    expect(split.rateBelow).toBeCloseTo(0.05, 1);
    expect(levels.reduce((sum, { calls }) => sum + calls, 0)).toBe(30 * 4 * 120);
    expect(rate).toBeGreaterThan(0.05);
  });

  it("is nothing if long sessions are hard ones, although more calls fail at high levels", () => {
    const found = sessions(
      200,
      (session) => (session % 2 === 0 ? 30 : 120),
      1_000,
      ({ session }) => (session % 2 === 0 ? 0.03 : 0.15),
    );
    const { levels, levelSplits } = qualityOf(signalCells(found, "failed"));
    expect(levels[2]!.rate! / levels[0]!.rate!).toBeGreaterThan(1.5);
    expect(clearestSplit(levelSplits)).toBeUndefined();
  });

  it("is nothing if every session gets worse with time, whatever its level", () => {
    const found = [400, 800, 1_600, 3_200].flatMap((step) =>
      sessions(
        50,
        () => 100,
        step,
        ({ number }) => 0.02 + number / 500,
      ),
    );
    const { levels, levelSplits } = qualityOf(signalCells(found, "failed"));
    expect(levels[2]!.rate!).toBeGreaterThan(levels[0]!.rate!);
    expect(levels[2]!.expectedRate!).toBeGreaterThan(levels[0]!.expectedRate!);
    expect(clearestSplit(levelSplits)).toBeUndefined();
  });

  it("says nothing of fewer than 30 sessions", () => {
    const found = [500, 1_000].flatMap((step) =>
      sessions(
        12,
        () => 120,
        step,
        ({ level }) => (level >= 50_000 ? 0.9 : 0),
      ),
    );
    const { levelSplits } = qualityOf(signalCells(found, "failed"));
    expect(levelSplits.map(({ verdict }) => verdict)).toEqual(levelSplits.map(() => "few_sessions"));
    expect(clearestSplit(levelSplits)).toBeUndefined();
  });

  it("is nothing of no sessions, and of sessions without calls", () => {
    for (const none of [[], [[]]])
      expect(qualityOf(signalCells(none, "failed"))).toMatchObject({
        calls: 0,
        rate: undefined,
        levelSplits: [],
      });
  });

  it("counts only calls with a result where the signal is one of results", () => {
    const cells = new OutcomeCells();
    cells.add({ number: 1, level: 1, share: undefined, outcome: { calls: 3, repeated: 1, cut_off: 1 } });
    cells.add({
      number: 2,
      level: 1,
      share: undefined,
      outcome: { calls: 2, repeated: 0, failed: 1 },
    });
    const sessionsOfOne = [cells.cells()];
    expect(qualityOf(signalCells(sessionsOfOne, "failed"))).toMatchObject({ calls: 2, rate: 0.5 });
    expect(qualityOf(signalCells(sessionsOfOne, "repeated"))).toMatchObject({ calls: 5, rate: 0.2 });
    expect(qualityOf(signalCells(sessionsOfOne, "cut_off"))).toMatchObject({ calls: 5, rate: 0.2 });
    // Without a line, there is no share of it.
    expect(qualityOf(signalCells(sessionsOfOne, "failed")).shares.every(({ calls }) => calls === 0)).toBe(
      true,
    );
  });

  it("claims a difference where there is none in few of many tries", () => {
    let claims = 0;
    for (let attempt = 0; attempt < 40; attempt++) {
      const found = sessions(
        40,
        () => 60 + attempt,
        1_000 + 10 * attempt,
        () => 0.1,
      );
      if (qualityOf(signalCells(found, "failed")).levelSplits.some(({ verdict }) => verdict === "rises"))
        claims += 1;
    }
    expect(claims).toBeLessThanOrEqual(3);
  });
});

describe("cells", () => {
  it("have a code that tells their place", () => {
    const index = (bands: readonly unknown[]) => fc.nat(bands.length - 1);
    fc.assert(
      fc.property(
        index(LEVEL_BANDS),
        fc.nat(SHARE_BANDS.length),
        index(POSITION_BANDS),
        (level, share, position) => {
          expect(cellPlace(cellCode({ level, share, position }))).toEqual({ level, share, position });
        },
      ),
    );
  });

  it("hold what turns add, in any order", () => {
    const turn = fc.record({
      number: fc.integer({ min: 1, max: 3_000 }),
      level: fc.nat(600_000),
      share: fc.option(fc.double({ min: 0, max: 2, noNaN: true }), { nil: undefined }),
      outcome: fc.record({ calls: fc.nat(5), failed: fc.nat(3), repeated: fc.nat(3) }),
    });
    fc.assert(
      fc.property(fc.array(turn), (turns) => {
        const [one, other] = [new OutcomeCells(), new OutcomeCells()];
        for (const each of turns) one.add(each);
        for (const each of turns.toReversed()) other.add(each);
        expect(one.cells()).toEqual(other.cells());
        const sum = one.cells().reduce((all, { calls }) => all + calls, 0);
        expect(sum).toBe(turns.reduce((all, { outcome }) => all + outcome.calls, 0));
      }),
    );
  });
});
