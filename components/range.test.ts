import fc from "fast-check";
import { expect, test } from "vitest";
import {
  DAY_RANGES,
  dayRange,
  parseRange,
  rangeWithData,
  resolveRange,
  serializeRange,
  stepFor,
} from "./range.ts";

test.each([
  ["24h", { last: "24h" }],
  ["2026-11-20T10:00:00Z..2026-11-20T12:00:00Z", { from: 1795168800000, to: 1795176000000 }],
  ["25h", null],
  ["", null],
  ["2026-11-20..2026-11-19", null],
  ["a..b", null],
  ["2026-11-19..2026-11-20..2026-11-21", null],
])("parseRange(%s)", (text, choice) => {
  expect(parseRange(text)).toEqual(choice);
});

test("a range round-trips through the URL", () => {
  const choice = { from: 1795168800000, to: 1795176000000 };
  expect(parseRange(serializeRange(choice))).toEqual(choice);
  expect(parseRange(serializeRange({ last: "7d" }))).toEqual({ last: "7d" });
});

test("a relative range ends at the end of the current minute", () => {
  const now = Date.UTC(2026, 10, 20, 10, 41, 18);
  expect(resolveRange({ last: "1h" }, now)).toEqual({
    from: "2026-11-20T09:42:00.000Z",
    to: "2026-11-20T10:42:00.000Z",
    span: 3_600_000,
  });
  expect(resolveRange({ last: "1h" }, now + 40_000)).toEqual(resolveRange({ last: "1h" }, now));
});

test.each([
  [3_600_000, 48, 120],
  [24 * 3_600_000, 48, 1800],
  [7 * 24 * 3_600_000, 48, 21_600],
  [30 * 24 * 3_600_000, 48, 86_400],
  [60_000, 48, 60],
  [10 * 365 * 24 * 3_600_000, 48, 2_678_400],
])("stepFor(%d, %d) is %d s", (span, most, step) => {
  expect(stepFor(span, most)).toBe(step);
});

test("all time starts with the recorded history, and is at least an hour long", () => {
  const now = Date.UTC(2026, 10, 20, 10, 41, 18);
  const from = (begin: string | null) => resolveRange({ last: "all" }, now, begin).from;
  expect(from("2026-03-01T06:00:00.000Z")).toBe("2026-03-01T06:00:00.000Z");
  expect(from("2026-11-20T10:30:00.000Z")).toBe("2026-11-20T09:42:00.000Z");
  expect(from("2031-01-01T00:00:00.000Z")).toBe("2026-11-20T09:42:00.000Z");
  expect(from(null)).toBe("2026-11-20T09:42:00.000Z");
});

test.each([
  ["23:50", "23:45", "a range of less than 15 minutes"],
  ["20:00", "20:00", "a young project"],
  ["06:00", "06:00", "a quarter of the day without data"],
])("charts of a day begin with the first event at %s: from %s", (first, from) => {
  const to = Date.UTC(2026, 10, 21);
  const period = resolveRange({ last: "24h" }, to - 60_000);
  const begin = `2026-11-20T${first}:00.000Z`;
  expect(rangeWithData({ last: "24h" }, period, begin)).toEqual({
    from: `2026-11-20T${from}:00.000Z`,
    to: "2026-11-21T00:00:00.000Z",
    span: to - Date.parse(`2026-11-20T${from}:00Z`),
    since: Date.parse(begin),
  });
});

test.each([
  ["an old project", { last: "24h" }, "2026-01-01T00:00:00.000Z"],
  ["a project that began early in the range", { last: "24h" }, "2026-11-20T05:59:00.000Z"],
  ["a project without events", { last: "24h" }, null],
  [
    "a chosen range",
    { from: Date.UTC(2026, 10, 20), to: Date.UTC(2026, 10, 21) },
    "2026-11-20T20:00:00.000Z",
  ],
] as const)("charts of %s show the whole range", (_, choice, begin) => {
  const period = resolveRange(choice, Date.UTC(2026, 10, 21) - 60_000);
  expect(rangeWithData(choice, period, begin)).toEqual({ ...period, since: null });
});

test.each(["UTC", "Europe/Berlin", "Asia/Kolkata", "America/New_York"])(
  "days and nights are those of the viewer in %s",
  (zone) => {
    const before = process.env.TZ;
    process.env.TZ = zone;
    try {
      fc.assert(
        fc.property(fc.date({ min: new Date(0), max: new Date(4e12), noInvalidDate: true }), (date) => {
          const now = date.getTime();
          const [today, yesterday, night] = DAY_RANGES.map((day) => dayRange(day, now));
          expect(today!.from <= now && now < today!.to).toBe(true);
          expect(yesterday!.to).toBe(today!.from);
          for (const { from, to } of [today!, yesterday!]) {
            expect(new Date(from).toTimeString().slice(0, 8)).toMatch(/^0[01]:00:00$/);
            expect(Math.abs((to - from) / 3_600_000 - 24)).toBeLessThanOrEqual(1);
          }
          expect([new Date(night!.from).getHours(), new Date(night!.to).getHours()]).toEqual([22, 8]);
          expect(night!.from <= now && now - night!.to < 15 * 3_600_000).toBe(true);
        }),
      );
    } finally {
      process.env.TZ = before;
      if (before === undefined) delete process.env.TZ;
    }
  },
);
