import { expect, test } from "vitest";
import { jumpTo, pointAt } from "./time-jump.ts";

const AT = Date.parse("2026-11-27T14:05:00Z");

test.each([
  ["Fleet", "/", "?harness=a", "/?harness=a&range=2026-11-27T13:35:00.000Z..2026-11-27T14:35:00.000Z"],
  [
    "Sessions",
    "/sessions",
    "?range=7d",
    "/sessions?range=2026-11-27T13:35:00.000Z..2026-11-27T14:35:00.000Z",
  ],
  [
    "a page without a range, so that Fleet opens",
    "/setup",
    "",
    "/?range=2026-11-27T13:35:00.000Z..2026-11-27T14:35:00.000Z",
  ],
  [
    "a session",
    "/sessions/s1",
    "?agent=a&turn=5&zoom=1-9&fall=f",
    "/sessions/s1?agent=a&at=2026-11-27T14:05:00.000Z",
  ],
])("a jump from %s keeps what else the URL says", (_, path, search, url) => {
  expect(decodeURIComponent(jumpTo(path, search, AT))).toBe(url);
});

test("the turn of a time is the last one that had begun", () => {
  const points = [0, 60_000, 120_000].map((more) => ({ at: new Date(AT + more).toISOString() }));
  expect(pointAt(points, AT + 90_000)).toBe(points[1]);
  expect(pointAt(points, AT + 60_000)).toBe(points[1]);
  expect(pointAt(points, AT - 1)).toBe(points[0]);
  expect(pointAt(points, AT + 1e9)).toBe(points[2]);
  expect(pointAt([], AT)).toBeUndefined();
});
