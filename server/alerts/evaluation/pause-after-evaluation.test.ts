import fc from "fast-check";
import { expect, it } from "vitest";
import { pauseAfterLook } from "./pause-after-evaluation.ts";

const NOTHING = { agents: 0, counted: 0, changed: 0, open: 0 };

it("pauses shortly after a look at few agents, and for seconds after one at many", () => {
  expect(pauseAfterLook(NOTHING)).toBe(50);
  expect(pauseAfterLook({ ...NOTHING, agents: 1_000 })).toBe(2_000);
  expect(pauseAfterLook({ ...NOTHING, changed: 1_000 })).toBe(2_000);
  expect(pauseAfterLook({ ...NOTHING, counted: 1_000 })).toBe(5_000);
  expect(pauseAfterLook({ ...NOTHING, open: 1_000 })).toBe(50);
  expect(pauseAfterLook({ ...NOTHING, agents: 1_000_000 })).toBe(10_000);
});

it("never falls further and further behind agents that send less than 400 turns a second", () => {
  const rate = fc.integer({ min: 0, max: 400 });
  const property = fc.property(rate, fc.integer({ min: 0, max: 100_000 }), (perSecond, backlog) => {
    let agents = backlog;
    for (let look = 0; look < 60; look++)
      agents = (perSecond * pauseAfterLook({ ...NOTHING, agents })) / 1_000;
    expect(pauseAfterLook({ ...NOTHING, agents })).toBe(50);
  });
  fc.assert(property);
});
