import { existsSync, readdirSync, readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { anchored, calibrate, newCalibration, predict, uncertainty } from "./calibrate.ts";
import { estimateTokens, tokenizerScale } from "./estimate.ts";

const FIXTURES = fileURLToPath(new URL("../../../../../shared/fixtures/agentd", import.meta.url));

interface RecordedCall {
  estimate: number;
  quarter: number;
  actual: number;
}

/**
 * Rebuilds the content of each recorded call: prompt, replies and tool results, minus the share that was collected.
 */
function recordedCalls(file: string): RecordedCall[] {
  const calls: RecordedCall[] = [];
  let text = 0;
  let chars = 0;
  let kept = 1;
  let first = true;
  const add = (value: string) => {
    text += estimateTokens(value);
    chars += value.length;
  };
  for (const line of readFileSync(`${FIXTURES}/${file}`, "utf8").trim().split("\n")) {
    const { event } = JSON.parse(line);
    if (event === undefined || event.parent_op_id !== undefined) continue;
    if (event.name === "gc_collect") kept = event.data.tokens_after / event.data.tokens_before;
    if (event.event === "InferCall" && first) {
      add(event.prompt_preview);
      first = false;
    }
    if (event.event === "InferResult") {
      calls.push({ estimate: text * kept, quarter: (chars * kept) / 4, actual: event.input_tokens });
      kept = 1;
      add(event.response.content ?? "");
      for (const call of event.response.tool_calls ?? []) add(JSON.stringify(call));
    }
    if (event.event === "EvalResult") add(JSON.stringify(event.result));
  }
  return calls;
}

function median(values: number[]): number {
  return [...values].sort((a, b) => a - b)[values.length >> 1]!;
}

describe.skipIf(!existsSync(FIXTURES))("on recorded agentd runs", () => {
  it("predicts within 5 % (median) after five turns, and prints a comparison with chars/4 [P4]", () => {
    const rows: string[] = [];
    const ours: number[] = [];
    const quarters: number[] = [];
    for (const file of readdirSync(FIXTURES).filter((name) => name.endsWith(".jsonl"))) {
      let calibration = newCalibration(tokenizerScale("claude-haiku-4.5"));
      const own: number[] = [];
      const quarter: number[] = [];
      for (const [turn, call] of recordedCalls(file).entries()) {
        if (turn >= 5) {
          own.push(Math.abs(predict(calibration, call.estimate).tokens / call.actual - 1));
          quarter.push(Math.abs(call.quarter / call.actual - 1));
        }
        calibration = calibrate(calibration, call.estimate, call.actual);
      }
      if (own.length === 0) continue;
      ours.push(...own);
      quarters.push(...quarter);
      rows.push(`${file.slice(0, 40).padEnd(42)}${percent(median(own))}${percent(median(quarter))}`);
    }
    rows.push(`${"all".padEnd(42)}${percent(median(ours))}${percent(median(quarters))}`);
    console.warn(["run (median error after 5 turns)            calibrated   chars/4", ...rows].join("\n"));
    expect(ours.length).toBeGreaterThan(40);
    expect(median(ours)).toBeLessThan(0.05);
    expect(median(ours)).toBeLessThan(median(quarters) / 2);
  });
});

function percent(value: number): string {
  return `${(value * 100).toFixed(1)} %`.padStart(12);
}

describe("calibration", () => {
  it("learns any offset and slope from the counts alone", () => {
    fc.assert(
      fc.property(
        fc.integer({ min: 0, max: 30_000 }),
        fc.double({ min: 0.7, max: 1.9, noNaN: true }),
        fc.array(fc.integer({ min: 50, max: 5_000 }), { minLength: 8, maxLength: 20 }),
        (offset, slope, growth) => {
          let calibration = newCalibration();
          let estimate = 500;
          for (const grown of growth) {
            estimate += grown;
            calibration = calibrate(calibration, estimate, Math.round(offset + slope * estimate));
          }
          const next = estimate + 1_000;
          const actual = offset + slope * next;
          expect(Math.abs(predict(calibration, next).tokens - actual) / actual).toBeLessThan(0.05);
        },
      ),
    );
  });

  it("reports the source and the recent error of a prediction [P19]", () => {
    const fresh = newCalibration(1.2, 300);
    expect(predict(fresh, 1_000)).toEqual({ tokens: 1_500, source: "estimated", error: undefined });
    const once = calibrate(fresh, 1_000, 2_000);
    expect(predict(once, 1_000)).toMatchObject({ tokens: 2_000, source: "measured" });
    expect(predict(once, 1_500)).toMatchObject({ tokens: 2_600, source: "calibrated" });
    expect(predict(calibrate(once, 1_500, 2_500), 1_500).error).toBeCloseTo(0.04, 2);
  });

  it("does not learn the slope from a prompt that the provider had cleared", () => {
    let calibration = calibrate(newCalibration(), 1_000, 1_000);
    calibration = calibrate(calibration, 3_000, 3_000);
    calibration = anchored(calibration, 3_100, 1_900);
    expect(predict(calibration, 3_200).tokens).toBe(2_000);
    calibration = calibrate(calibration, 1_500, 1_500);
    expect(calibration).toMatchObject({ slope: 1, errors: [0] });
    expect(calibrate(calibration, 2_500, 3_000).slope).toBeGreaterThan(1);
  });

  it("takes into account that what was removed may be what the provider had cleared", () => {
    let calibration = calibrate(newCalibration(), 3_000, 3_000);
    calibration = anchored(calibration, 3_200, 2_000);
    calibration = anchored(calibration, 3_300, 2_000);
    const off = (estimate: number, lowered: boolean) => uncertainty(calibration, estimate, lowered);
    expect(off(3_400, false)).toBeLessThan(100);
    expect(predict(calibration, 2_300).tokens + off(2_300, true)).toBeGreaterThanOrEqual(2_300);
    expect(predict(calibration, 500).tokens + off(500, true)).toBeLessThan(700);
  });

  it("limits the slope to a plausible range", () => {
    const wild = calibrate(calibrate(newCalibration(), 1_000, 1_000), 1_100, 90_000);
    expect(wild.slope).toBeLessThanOrEqual(3);
    const backwards = calibrate(calibrate(newCalibration(), 1_000, 9_000), 5_000, 1_000);
    expect(backwards.slope).toBeGreaterThanOrEqual(0.5);
  });
});
