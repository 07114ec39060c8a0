import { readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { intervalOf, resampled, total } from "./resample.ts";

/**
 * `auxiliary-data` of The Complexity Trap (arXiv 2508.21433), as in github.com/Recursive-Safeguarding/the-complexity-trap at 1b07dec: what
 * each of 2,550 runs of OpenHands cost, and the intervals that its authors give.
 */
const FOLDER = process.env.VITEST_PLIMSOLL_COMPLEXITY_TRAP;

type Row = Readonly<Record<string, string>>;

/** Rows of a file whose values hold no comma. */
function rowsOf(name: string): Row[] {
  const [head, ...lines] = readFileSync(join(FOLDER!, name), "utf8").trim().split(/\r?\n/);
  const columns = head!.split(",");
  return lines.map((line) => {
    const values = line.split(",");
    return Object.fromEntries(columns.map((column, at) => [column, values[at]!]));
  });
}

describe.skipIf(FOLDER === undefined)(
  "published costs of strategies, if VITEST_PLIMSOLL_COMPLEXITY_TRAP is set",
  () => {
    const runs = FOLDER === undefined ? [] : rowsOf("experiment_instance_costs_openhands.csv");
    const published = FOLDER === undefined ? [] : rowsOf("bootstrapped_cis_openhands.csv");
    const valuesOf = (experiment: string, column: string) =>
      Float64Array.from(
        runs.filter((run) => run.experiment === experiment).map((run) => Number(run[column])),
      );

    it.each(published)("has the mean of $experiment, and an interval like the authors'", (row) => {
      for (const [column, name] of [
        ["cost", "mean_cost"],
        ["outcome", "solve_rate"],
      ] as const) {
        const told = valuesOf(row.experiment!, column);
        const weight = new Float64Array(told.length).fill(1);
        const { low, high } = intervalOf(resampled(told.length, [{ told, weight }])[0]!, told.length, 1);
        const [mean, from, to] = [name, `${name}_lo`, `${name}_hi`].map((one) => Number(row[one]));
        expect(total(told) / told.length).toBeCloseTo(mean!, 9);
        // 500 resamples place an end within 6 % of half the interval, two times of three.
        const near = 0.2 * ((to! - from!) / 2);
        expect(Math.abs(low - from!)).toBeLessThan(near);
        expect(Math.abs(high - to!)).toBeLessThan(near);
      }
    });

    const RAW = "raw_agent-run_1";
    it.each([
      ["llm_summary_N_21_M_10-summarizer_for_eval-run_1", 0.49, 1.35],
      ["observation_masking-observation_masking_for_eval-run_1", 0.52, 2.27],
    ])("has the cost and the turns of %s beside those of the same tasks without it", (name, cost, turns) => {
      const mean = (experiment: string, column: string) =>
        total(valuesOf(`gemini-2.5-flash_maxiter_250_N_v0.43.0-no-hint-${experiment}`, column)) / 500;
      expect(mean(name, "cost") / mean(RAW, "cost")).toBeCloseTo(cost, 2);
      expect(mean(name, "turn_count") / mean(RAW, "turn_count")).toBeCloseTo(turns, 2);
    });
  },
);
