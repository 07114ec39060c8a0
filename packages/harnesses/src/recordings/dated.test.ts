import fc from "fast-check";
import { expect, it } from "vitest";
import { type Dated, ValuesByTime } from "./dated.ts";

/** The definition, by looking at every value. */
function latestAt(values: readonly Dated<number>[], time: number): number | undefined {
  let latest: Dated<number> | undefined;
  for (const value of values) {
    if (value.at <= time && (latest === undefined || value.at >= latest.at)) latest = value;
  }
  return latest?.value;
}

it("finds the value that held at a time", () => {
  const time = fc.integer({ min: 0, max: 12 });
  fc.assert(
    fc.property(fc.array(time), time, (times, asked) => {
      const values = times.map((at, value) => ({ at, value }));
      const timeline = new ValuesByTime(values);
      expect(timeline.at(asked)).toBe(latestAt(values, asked));
      expect(timeline.first).toBe(times.length === 0 ? undefined : times.indexOf(Math.min(...times)));
    }),
  );
});
