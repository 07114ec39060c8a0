import fc from "fast-check";
import { expect, it } from "vitest";
import { COMPACTION_BIT } from "../db/tables/codes.ts";
import { type NumberedTurn, numberTurns } from "../db/tables/turn-order.ts";
import { isLevel } from "../db/tables/turns.ts";
import { plainTurn } from "../testing/any-turns.ts";
import { ThinnedPoints } from "./chart.ts";

function history(levels: readonly (number | undefined)[], compactions: ReadonlySet<number>) {
  return numberTurns(
    levels.map((contextTokens, n) =>
      plainTurn({
        key: String(n),
        at: n,
        contextTokens,
        facets: compactions.has(n) ? COMPACTION_BIT : 0,
      }),
    ),
  );
}

function draw(turns: readonly NumberedTurn[]): readonly NumberedTurn[] {
  const points = new ThinnedPoints(turns.length);
  for (const one of turns) if (isLevel(one.turn)) points.add(one);
  return points.end();
}

it("draws every turn of a history of up to 1,000 turns", () => {
  const turns = history(
    Array.from({ length: 1_000 }, (_, n) => n % 7),
    new Set([3]),
  );
  expect(draw(turns)).toEqual(turns.filter(({ number }) => number !== 4));
});

it("draws the highest and the last turn of each bucket of a longer history", () => {
  const level = fc.option(fc.integer({ min: 0, max: 50 }), { nil: undefined });
  const given = fc.tuple(
    fc.array(level, { minLength: 1_001, maxLength: 2_600, size: "max" }),
    fc.uniqueArray(fc.nat({ max: 2_599 }), { maxLength: 400, size: "max" }),
  );
  fc.assert(
    fc.property(given, ([levels, compactions]) => {
      const turns = history(levels, new Set(compactions));
      const width = Math.ceil(turns.length / 500);
      const expected = Array.from({ length: Math.ceil(turns.length / width) }, (_, bucket) => {
        const members = turns.slice(bucket * width, (bucket + 1) * width).filter(({ turn }) => isLevel(turn));
        const top = Math.max(...members.map(({ turn }) => turn.contextTokens ?? -1));
        const highest = members.find(({ turn }) => (turn.contextTokens ?? -1) === top);
        return [...new Set([highest, members.at(-1)])].filter((one) => one !== undefined);
      });
      const points = draw(turns);
      expect(points).toEqual(expected.flat());
      expect(points.length).toBeLessThanOrEqual(1_000);
    }),
    { numRuns: 20 },
  );
});
