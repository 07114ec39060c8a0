import type { LineVerdict } from "@plimsoll/protocol/pure";
import { describe, expect, test } from "vitest";
import {
  harnessLineText,
  type StatedLine,
  type StatedObservation,
  shortLineText,
  verdictText,
} from "./harness-line-text.ts";

const line = (tokens: number | null, basis: StatedLine["basis"]): StatedLine => ({ tokens, basis });
const seen = (
  verdict: LineVerdict,
  falls: number,
  lowest: number,
  highest: number,
  of = falls,
): StatedObservation => ({
  verdict,
  observed: { falls, of, lowest, highest, median: highest },
});

const computed = line(167_000, "computed");

describe("where a harness compacts", () => {
  test.each([
    [null, undefined, "", ""],
    [computed, undefined, "compacts at 167k (computed)", "Harness compacts at 167k (computed)."],
    [
      line(120_000, "acknowledged"),
      undefined,
      "compacts at 120k (set)",
      "Harness compacts at 120k (acknowledged).",
    ],
    [
      line(null, "off"),
      undefined,
      "does not compact (set)",
      "Harness does not compact: it acknowledged that compaction is off.",
    ],
    [
      line(null, "unknown"),
      undefined,
      "",
      "The line of the harness is unknown: it depends on the size of the window.",
    ],
    [
      computed,
      seen("agrees", 12, 161_000, 168_000),
      "compacts at 167k (observed 12×)",
      "Harness compacts at 167k (computed; observed 12 times, 161k–168k).",
    ],
    [
      computed,
      seen("too_few", 1, 86_000, 86_000),
      "compacts at 167k (computed)",
      "Harness compacts at 167k (computed; observed once, 86k).",
    ],
    [
      computed,
      seen("earlier", 3, 84_000, 86_000),
      "compacts near 86k, not 167k",
      "Harness compacts at 167k (computed; observed 3 times, 84k–86k).",
    ],
    [
      line(null, "off"),
      seen("not_off", 3, 161_000, 167_000),
      "compacts near 167k, but is set to off",
      "Harness compacts near 167k (observed 3 times, 161k–167k), although it is set to off.",
    ],
    [
      null,
      seen("no_line", 4, 88_000, 90_000),
      "compacts near 90k (observed 4 times)",
      "Harness compacts near 90k (observed 4 times, 88k–90k).",
    ],
    [
      line(null, "unknown"),
      seen("no_line", 4, 88_000, 90_000),
      "compacts near 90k (observed 4 times)",
      "Harness compacts near 90k (observed 4 times, 88k–90k).",
    ],
    [
      computed,
      seen("scattered", 4, 88_000, 90_000, 9),
      "compacts at 167k (computed)",
      "Harness compacts at 167k (computed; observed 4 times, 88k–90k).",
    ],
  ])("%j, %j", (stated, observation, short, long) => {
    expect(shortLineText(stated, observation)).toBe(short);
    expect(harnessLineText(stated, observation)).toBe(long);
  });

  test.each([
    [seen("agrees", 12, 161_000, 168_000), ""],
    [seen("agrees", 12, 161_000, 168_000, 13), "1 other compaction began outside this range."],
    [
      seen("earlier", 3, 84_000, 86_000, 5),
      "It compacts earlier than its line of 167,000 tokens says. 2 other compactions began outside this range.",
    ],
    [
      seen("too_few", 1, 84_000, 84_000),
      "Fewer than 3 observed compactions do not show whether this is right.",
    ],
  ])("what %j means", (observation, text) => {
    expect(verdictText(computed, observation)).toBe(text);
  });
});
