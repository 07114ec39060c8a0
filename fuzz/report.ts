import type { Target } from "./corpus.ts";
import type { Fault } from "./judge.ts";

/** An input that failed, and where it is kept. */
export interface Found {
  fault: Fault;
  detail: string;
  /** The number of the input: with the seed, it makes the same input again. */
  index: number;
  /** Inputs that failed in the same way. */
  times: number;
  path?: string;
}

export interface TargetReport {
  target: Target;
  seed: number;
  inputs: number;
  seconds: number;
  /** Inputs by what came of them: an HTTP status, or `read`. */
  outcomes: ReadonlyMap<string, number>;
  found: readonly Found[];
  /** Faults of the whole run, such as memory that grows. */
  problems: readonly string[];
  /** What was measured, such as `healthz p99 4 ms`. */
  measured: readonly string[];
}

export const failed = ({ found, problems }: TargetReport): boolean => found.length > 0 || problems.length > 0;

export function reportText(reports: readonly TargetReport[]): string {
  const lines: string[] = [];
  for (const report of reports) {
    const { target, seed, inputs, seconds, outcomes, found, problems, measured } = report;
    const rate = Math.round(inputs / Math.max(seconds, 0.001));
    lines.push(
      "",
      `${target}: ${count(inputs)} inputs in ${seconds.toFixed(0)} s (${count(rate)}/s), seed ${seed}: ${failed(report) ? "FAILED" : "ok"}`,
    );
    lines.push(`  ${measured.join(", ")}`);
    for (const [outcome, times] of [...outcomes].sort(([a], [b]) => (a < b ? -1 : 1))) {
      lines.push(`  ${outcome.padEnd(12)} ${count(times).padStart(12)}`);
    }
    for (const problem of problems) lines.push(`  PROBLEM ${problem}`);
    for (const { fault, detail, index, times, path } of found) {
      lines.push(`  FOUND ${fault} ${count(times)} times, first by input ${index}: ${detail}`);
      if (path !== undefined) lines.push(`    kept in ${path}`);
    }
  }
  return lines.join("\n");
}

export const count = (value: number) => value.toLocaleString("en-US");
