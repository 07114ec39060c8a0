import { expect, it } from "vitest";
import { differingColumns } from "./differing-columns.ts";

it.each<[column: string, stored: unknown, expected: unknown, differs: boolean]>([
  ["peakTokens", 139_755_840, 139_755_833, true],
  ["peakTokens", 139_755_833, 139_755_833, false],
  // As a four-byte float holds 139,755,833 windows' worth.
  ["peakUtilization", 139_755_840, 139_755_833, false],
  ["peakUtilization", 0.1, Math.fround(0.1), false],
  ["peakUtilization", 0.1, 0.100_001, true],
  ["load", null, undefined, false],
  ["load", null, 0, true],
  ["detail", { a: 1 }, { a: 1 }, false],
])("%s %j is compared with %j", (column, stored, expected, differs) => {
  expect(differingColumns("agents", { [column]: stored }, { [column]: expected })).toHaveLength(
    differs ? 1 : 0,
  );
});
