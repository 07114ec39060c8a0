import type { Series } from "@plimsoll/protocol/api";
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { isSameData, isSameSeries } from "./same-picture.ts";

const TO = Date.UTC(2026, 10, 20, 10);
const WEEK = 7 * 86_400_000;
const MINUTE = 60_000;

function series({
  to = TO,
  span = WEEK,
  values = [0.2, null] as (number | null)[],
  step = 5_400,
} = {}): Series {
  const iso = (at: number) => new Date(at).toISOString();
  return {
    metric: "utilization_peak",
    unit: "fraction",
    step,
    range: { from: iso(to - span), to: iso(to) },
    groups: [
      { group: null, other: null, points: values.map((value, index) => ({ at: iso(TO + index), value })) },
    ],
  };
}

describe("a chart", () => {
  test.each([
    ["a minute later, with the same values", series({ to: TO + MINUTE }), true],
    ["of the same moment", series(), true],
    ["an hour later", series({ to: TO + 60 * MINUTE }), false],
    ["with another value", series({ values: [0.3, null] }), false],
    ["with a value more", series({ values: [0.2, null, 0.1] }), false],
    ["of a shorter range", series({ span: WEEK / 7 }), false],
    ["with other buckets", series({ step: 60 }), false],
    ["not loaded yet", undefined, false],
  ])("%s: the same picture is %s", (_, other, isSame) => {
    expect(isSameSeries(series(), other)).toBe(isSame);
    expect(isSameSeries(other, series())).toBe(isSame);
  });

  test("of an hour moves with each minute", () => {
    const hour = { span: 60 * MINUTE };
    expect(isSameSeries(series(hour), series({ ...hour, to: TO + MINUTE }))).toBe(false);
  });

  test("never stays behind by more than a thousandth of its range, however small the steps", () => {
    fc.assert(
      fc.property(fc.array(fc.integer({ min: 1, max: 20 }), { maxLength: 60 }), (pauses) => {
        let drawn = series();
        let to = TO;
        for (const pause of pauses) {
          to += pause * MINUTE;
          const next = series({ to });
          if (!isSameSeries(drawn, next)) drawn = next;
          expect(to - Date.parse(drawn.range.to)).toBeLessThan(WEEK / 1_000);
        }
      }),
    );
  });
});

test("answers are compared by what they say", () => {
  expect(isSameData({ a: [1, null] }, { a: [1, null] })).toBe(true);
  expect(isSameData({ a: [1] }, { a: [1, null] })).toBe(false);
  expect(isSameData(undefined, undefined)).toBe(true);
  expect(isSameData(undefined, { a: 1 })).toBe(false);
});
