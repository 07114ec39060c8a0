import { THRESHOLD_NAMES } from "@plimsoll/protocol/pure";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import type { AgentFigures } from "./agent-replay.ts";
import { noFigures, type RunFigures } from "./policy-run.ts";
import {
  MOST_AFFECTED,
  MOST_RANKED,
  mergeTotals,
  noTotals,
  type ReplayTotals,
  sessionTotals,
} from "./totals.ts";

const count = fc.integer({ min: 0, max: 5 });
const figures: fc.Arbitrary<RunFigures> = fc
  .record({
    maskings: count,
    compactions: count,
    restarts: count,
    turnsAbove: count,
    keptOut: fc.integer({ min: -9, max: 9 }),
    peak: count,
    crossed: fc.record(Object.fromEntries(THRESHOLD_NAMES.map((name) => [name, count]))),
  })
  .map(({ crossed, ...rest }) => ({
    ...noFigures(),
    ...rest,
    crossings: crossed as RunFigures["crossings"],
  }));
const agent: fc.Arbitrary<AgentFigures> = fc.record({
  turns: count,
  differs: fc.boolean(),
  runs: fc.record({ happened: figures, current: figures, candidate: figures }),
});
const session = (id: number) =>
  fc.array(agent, { minLength: 1, maxLength: 2 }).map((agents) => sessionTotals(`s${id}`, agents));
const sessions = fc
  .integer({ min: 0, max: 12 })
  .chain((most) => fc.tuple(...Array.from({ length: most }, (_, id) => session(id))));
const sum = (parts: readonly ReplayTotals[]) => parts.reduce(mergeTotals, noTotals());

describe("the totals of a replay", () => {
  it("are the same however the sessions are divided and ordered", () => {
    fc.assert(
      fc.property(sessions, fc.nat(), fc.nat(), (parts, one, other) => {
        const [from, to] = [one % (parts.length + 1), other % (parts.length + 1)].sort((a, b) => a - b);
        const [a, b, c] = [parts.slice(0, from), parts.slice(from, to), parts.slice(to)].map(sum);
        const whole = sum(parts);
        expect(mergeTotals(mergeTotals(a!, b!), c!)).toEqual(whole);
        expect(mergeTotals(a!, mergeTotals(b!, c!))).toEqual(whole);
        expect(sum([...parts].reverse())).toEqual(whole);
      }),
    );
  });

  it("count a session once, however many agents it has", () => {
    const one: RunFigures = { ...noFigures(), maskings: 2 };
    const agents = [0, 1].map(() => ({
      turns: 3,
      differs: true,
      runs: { happened: one, current: one, candidate: one },
    }));
    const { sessions: number, affected, turns, runs } = sessionTotals("s", agents);
    expect({ number, affected, turns }).toEqual({ number: 1, affected: 1, turns: 6 });
    expect(runs.current.sessionsWith.maskings).toBe(1);
    expect(runs.current.most.maskings).toEqual([{ id: "s", count: 4 }]);
  });

  it("list a bounded number of sessions, and those with the most", () => {
    const many = Array.from({ length: 300 }, (_, index) => {
      const run: RunFigures = { ...noFigures(), compactions: index + 1, keptOut: index };
      return sessionTotals(`s${index}`, [
        { turns: 1, differs: true, runs: { happened: run, current: noFigures(), candidate: run } },
      ]);
    });
    const { mostAffected, affected, runs } = sum(many);
    expect(affected).toBe(300);
    expect(mostAffected).toHaveLength(MOST_AFFECTED);
    expect(mostAffected[0]).toEqual({ id: "s299", keptOut: 299 });
    expect(runs.candidate.most.compactions).toHaveLength(MOST_RANKED);
    expect(runs.candidate.most.compactions[0]).toEqual({ id: "s299", count: 300 });
    expect(runs.current.most.compactions).toEqual([]);
  });
});
