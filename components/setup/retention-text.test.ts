import { describe, expect, it } from "vitest";
import { bytesText, daysProblem, parseDays, previewText } from "./retention-text.ts";

describe("retention in words", () => {
  it.each([
    ["", null],
    [" ", null],
    ["30", 30],
    ["0", undefined],
    ["-1", undefined],
    ["1.5", undefined],
    ["30 days", undefined],
    ["36501", undefined],
  ])("reads %j as %j days", (text, days) => {
    expect(parseDays(text)).toBe(days);
  });

  it.each([
    ["30", "365", undefined],
    ["30", "30", undefined],
    ["30", "", undefined],
    ["", "", undefined],
    ["", "30", /Set the days for sessions/],
    ["30", "29", /at least 30 days/],
    ["x", "", /whole number/],
  ])("judges sessions %j and charts %j", (sessions, rollups, problem) => {
    const found = daysProblem(sessions, rollups);
    if (problem === undefined) expect(found).toBeUndefined();
    else expect(found).toMatch(problem);
  });

  it("says what a setting removes", () => {
    const days = { session_days: 30, rollup_days: 60 };
    expect(previewText(days, { sessions: 1, turns: 2_000, rollup_days: 3 })).toBe(
      "Removes 1 session with 2,000 turns and 3 days of charts now.",
    );
    expect(previewText(days, { sessions: 0, turns: 0, rollup_days: 1 })).toBe("Removes 1 day of charts now.");
    expect(previewText(days, { sessions: 0, turns: 0, rollup_days: 0 })).toMatch(/^Nothing is old enough/);
    expect(previewText({ ...days, session_days: null }, { sessions: 0, turns: 0, rollup_days: 0 })).toBe(
      "Nothing is removed.",
    );
  });

  it.each([
    [0, "0 kB"],
    [123_400, "123 kB"],
    [1_234_000, "1.2 MB"],
    [45_600_000, "46 MB"],
    [999_600_000, "1.0 GB"],
    [7_000_000_000_000, "7.0 TB"],
    [7_000_000_000_000_000, "7,000 TB"],
  ])("writes %i bytes as %s", (bytes, text) => {
    expect(bytesText(bytes)).toBe(text);
  });
});
