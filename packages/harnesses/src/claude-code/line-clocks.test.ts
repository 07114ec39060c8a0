import fc from "fast-check";
import { expect, test } from "vitest";
import { LineClocks } from "./line-clocks.ts";

const MINUTE = 60_000;
/** The times of a chain of lines, written at these times. */
function timesOf(written: readonly number[]): number[] {
  const clocks = new LineClocks();
  return written.map((at, n) =>
    clocks.timeOf({ uuid: `l${n}`, parent: n === 0 ? undefined : `l${n - 1}`, at }),
  );
}

test.each<[string, number[], number[]]>([
  ["of one clock stay", [0, 5, 40 * MINUTE], [0, 5, 40 * MINUTE]],
  ["that are a moment late stay", [10_000, 2_000, 11_000], [10_000, 2_000, 11_000]],
  [
    "go on after a change to a clock that is behind",
    [5 * MINUTE, MINUTE, MINUTE + 7_000],
    [5 * MINUTE, 5 * MINUTE + 1, 5 * MINUTE + 7_001],
  ],
  [
    "are those of the first machine again when it goes on",
    [5 * MINUTE, MINUTE, 9 * MINUTE, 9 * MINUTE + 3],
    [5 * MINUTE, 5 * MINUTE + 1, 9 * MINUTE, 9 * MINUTE + 3],
  ],
  ["an hour back are no error of a clock", [60 * MINUTE, 0], [60 * MINUTE, 0]],
])("times %s", (_, written, expected) => {
  expect(timesOf(written)).toEqual(expected);
});

test("a line that is read twice has one time, and one without a known parent its own", () => {
  const clocks = new LineClocks();
  clocks.timeOf({ uuid: "a", parent: undefined, at: 4 * MINUTE });
  const line = { uuid: "b", parent: "a", at: MINUTE };
  expect([clocks.timeOf(line), clocks.timeOf(line)]).toEqual([4 * MINUTE + 1, 4 * MINUTE + 1]);
  expect(clocks.timeOf({ uuid: "c", parent: "gone", at: 7 })).toBe(7);
  expect(clocks.timeOf({ uuid: undefined, parent: undefined, at: 8 })).toBe(8);
});

test("two machines with clocks minutes apart never turn the order of lines around", () => {
  const line = fc.record({ ms: fc.integer({ min: 1, max: 20 * MINUTE }), other: fc.boolean() });
  fc.assert(
    fc.property(
      fc.array(line, { maxLength: 30 }),
      fc.integer({ min: -280_000, max: 280_000 }),
      (lines, off) => {
        let now = 0;
        const written = lines.map(({ ms, other }) => {
          now += ms;
          return now + (other ? off : 0);
        });
        const times = timesOf(written);
        // A step of less than half a minute is left as it is.
        for (const [n, time] of times.entries())
          expect(time).toBeGreaterThan((times[n - 1] ?? Number.NEGATIVE_INFINITY) - 30_000);
      },
    ),
  );
});
