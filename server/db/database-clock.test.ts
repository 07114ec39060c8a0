import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { DatabaseClock } from "./database-clock.ts";

function clockAt(start: number) {
  const local = { time: start };
  return { local, clock: new DatabaseClock(() => local.time) };
}

describe("the database's clock", () => {
  it("is the local clock until the database has told its time, and then runs beside it", () => {
    const { local, clock } = clockAt(1_000);
    expect(clock.now()).toBe(1_000);
    clock.asking()(500_000);
    expect(clock.now()).toBe(500_000);
    local.time += 250;
    expect(clock.now()).toBe(500_250);
    clock.asking()(400);
    expect(clock.now()).toBe(400);
  });

  it("is not set back by an answer that is heard late", () => {
    const { local, clock } = clockAt(1_000);
    clock.asking()(1_000);
    const answered = clock.asking();
    local.time += 17_000;
    answered(1_010);
    expect(clock.now()).toBe(18_000);
  });

  it("follows a local clock that is set back while the database answers", () => {
    const { local, clock } = clockAt(1_000_000);
    clock.asking()(1_000_000);
    const answered = clock.asking();
    local.time -= 600_000;
    answered(1_000_020);
    expect(clock.now()).toBe(1_000_020);
  });

  it("is wrong by at most the time of the quickest answer", () => {
    const answer = fc.record({
      before: fc.integer({ min: 0, max: 20_000 }),
      after: fc.integer({ min: 0, max: 20_000 }),
    });
    fc.assert(
      fc.property(
        fc.integer({ min: -1e9, max: 1e9 }),
        fc.array(answer, { minLength: 1 }),
        (ahead, answers) => {
          const { local, clock } = clockAt(2_000_000_000);
          for (const { before, after } of answers) {
            const answered = clock.asking();
            local.time += before;
            const told = local.time + ahead;
            local.time += after;
            answered(told);
          }
          const quickest = Math.min(...answers.map(({ before, after }) => before + after));
          expect(Math.abs(clock.now() - (local.time + ahead))).toBeLessThanOrEqual(quickest);
        },
      ),
    );
  });
});
