import type { BoundaryView, CrossingView, TurnView } from "@plimsoll/protocol/api";
import { expect, test } from "vitest";
import { turnLogRows, withDayRows } from "./turn-log-rows.ts";

const at = (seconds: number) => new Date(Date.UTC(2026, 10, 20, 10) + seconds * 1000).toISOString();
const turn = (number: number) => ({ number, agent_id: "a", at: at(number * 10) }) as TurnView;
const boundary = (id: string, seconds: number, inferred = false) =>
  ({ id, type: id, at: at(seconds), inferred, detail: {} }) as BoundaryView;
const crossing = (threshold: string, seconds: number) =>
  ({ threshold, direction: "up", threshold_tokens: 0, at: at(seconds) }) as CrossingView;

function rowNames(...args: Parameters<typeof turnLogRows>): string[] {
  return turnLogRows(...args).map((row) =>
    row.kind === "turn"
      ? `turn ${row.turn.number}`
      : row.kind === "boundary"
        ? row.boundary.id
        : row.kind === "crossing"
          ? row.crossing.threshold
          : row.day,
  );
}

const WHOLE = { toOldest: true, toNewest: true };
const turns = [turn(3), turn(2), turn(1)];

test("entries are newest first, between the turns around them", () => {
  expect(rowNames(turns, [boundary("masked", 25), boundary("subtick", 12)], [], WHOLE)).toEqual([
    "turn 3",
    "masked",
    "turn 2",
    "subtick",
    "turn 1",
  ]);
});

test("leaves out entries newer than a list that does not begin at the newest turn", () => {
  const drawn = [boundary("later", 40), boundary("masked", 30), boundary("old", 1)];
  const around = { toOldest: false, toNewest: false };
  expect(rowNames(turns, drawn, [crossing("warning", 31)], around)).toEqual([
    "masked",
    "turn 3",
    "turn 2",
    "turn 1",
  ]);
});

test("at the same instant, a crossing is above its turn and an inferred fall below", () => {
  expect(rowNames(turns, [boundary("unexplained", 20, true)], [crossing("warning", 20)], WHOLE)).toEqual([
    "turn 3",
    "warning",
    "turn 2",
    "unexplained",
    "turn 1",
  ]);
});

test("of thresholds crossed at once, the last one crossed is on top", () => {
  const passed = (direction: "up" | "down") =>
    [
      { ...crossing("ceiling", 20), threshold_tokens: 2_000, direction },
      { ...crossing("hard", 20), threshold_tokens: 9_000, direction },
      { ...crossing("warning", 20), threshold_tokens: 1_500, direction },
    ] as CrossingView[];
  expect(rowNames([turn(2)], [], passed("up"), WHOLE)).toEqual(["hard", "ceiling", "warning", "turn 2"]);
  expect(rowNames([turn(2)], [], passed("down"), WHOLE)).toEqual(["warning", "ceiling", "hard", "turn 2"]);
});

test("entries after the latest turn are on top", () => {
  expect(rowNames(turns, [boundary("masked", 99)], [], WHOLE)[0]).toBe("masked");
});

test("older entries are hidden until their turns are loaded", () => {
  expect(rowNames(turns, [boundary("old", 1)], [], { toOldest: false, toNewest: true })).toEqual([
    "turn 3",
    "turn 2",
    "turn 1",
  ]);
  expect(rowNames(turns, [boundary("old", 1)], [], WHOLE).at(-1)).toBe("old");
});

test("entries are shown without any turn", () => {
  expect(rowNames([], [boundary("masked", 1)], [], WHOLE)).toEqual(["masked"]);
});

test("a session start is below the turn of the same instant, and its end above", () => {
  const session = (status: string) =>
    ({ ...boundary("session", 10), id: status, detail: { status } }) as BoundaryView;
  expect(rowNames([turn(1)], [session("started"), session("ended")], [], WHOLE)).toEqual([
    "ended",
    "turn 1",
    "started",
  ]);
});

test("days have headings unless all rows are of today", () => {
  const rows = turnLogRows([turn(3), turn(2), turn(1)], [boundary("masked", 25)], [], WHOLE);
  const dayOf = (time: string) => (time < at(25) ? "19 November" : "20 November");
  const days = (today: string) =>
    withDayRows(rows, today, dayOf).map((row) => (row.kind === "day" ? row.day : row.kind));
  expect(days("20 November")).toEqual(["20 November", "turn", "boundary", "19 November", "turn", "turn"]);
  expect(withDayRows(rows, "20 November", () => "20 November")).toEqual(rows);
  expect(withDayRows(rows, "21 November", () => "20 November")[0]).toMatchObject({
    kind: "day",
    day: "20 November",
  });
  expect(withDayRows([], "20 November", dayOf)).toEqual([]);
});

test("changes after a fall count from the level after it, so that the log adds up", () => {
  const counted = (number: number, tokens: number | null, change: number | null, compaction = false) =>
    ({ ...turn(number), context_tokens: tokens, change, compaction }) as TurnView;
  const fall = (id: string, seconds: number, after: number | null) =>
    ({ ...boundary(id, seconds), explains_fall: true, tokens_after: after }) as BoundaryView;
  const changes = (all: TurnView[], falls: BoundaryView[]) =>
    turnLogRows(all, falls, [], WHOLE).flatMap((row) =>
      row.kind === "turn" ? [[row.turn.number, row.change, row.afterFall]] : [],
    );
  const history = [counted(4, 30, 4), counted(3, 26, -10), counted(2, 36, 26), counted(1, 10, null)];
  expect(changes(history, [fall("masked", 25, 24)])).toEqual([
    [4, 4, false],
    [3, 2, true],
    [2, 26, false],
    [1, null, false],
  ]);
  // Of two falls in a row, the later one has the level that the next turn starts from.
  expect(changes(history, [fall("masked", 22, 30), fall("compacted", 25, 20)])[1]).toEqual([3, 6, true]);
  expect(changes(history, [fall("masked", 25, null)])[1]).toEqual([3, null, true]);
  // Turns without a level of their own are passed over.
  const passed = [
    counted(4, 26, -10),
    counted(3, null, null),
    counted(2, 36, 26, true),
    counted(1, 36, null),
  ];
  expect(changes(passed, [fall("masked", 15, 24)])[0]).toEqual([4, 2, true]);
  // A sign that lowers no level changes nothing.
  expect(changes(history, [{ ...fall("wind_down", 25, 1), explains_fall: false }])[1]).toEqual([
    3,
    -10,
    false,
  ]);
});
