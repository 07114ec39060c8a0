import fc from "fast-check";
import { expect, it } from "vitest";
import { pauseAfterEvaluation } from "./pause-after-evaluation.ts";

const NOTHING = { agents: 0, counted: 0, changed: 0, open: 0 };

it("pauses shortly after an evaluation of few agents, and for seconds after one at many", () => {
  expect(pauseAfterEvaluation(NOTHING)).toBe(50);
  expect(pauseAfterEvaluation({ ...NOTHING, agents: 1_000 })).toBe(2_000);
  expect(pauseAfterEvaluation({ ...NOTHING, changed: 1_000 })).toBe(2_000);
  expect(pauseAfterEvaluation({ ...NOTHING, counted: 1_000 })).toBe(5_000);
  expect(pauseAfterEvaluation({ ...NOTHING, open: 1_000 })).toBe(50);
  expect(pauseAfterEvaluation({ ...NOTHING, agents: 1_000_000 })).toBe(10_000);
});

it("never falls further and further behind agents that send less than 400 turns a second", () => {
  const rate = fc.integer({ min: 0, max: 400 });
  const property = fc.property(rate, fc.integer({ min: 0, max: 100_000 }), (perSecond, backlog) => {
    let agents = backlog;
    for (let evaluation = 0; evaluation < 60; evaluation++)
      agents = (perSecond * pauseAfterEvaluation({ ...NOTHING, agents })) / 1_000;
    expect(pauseAfterEvaluation({ ...NOTHING, agents })).toBe(50);
  });
  fc.assert(property);
});
