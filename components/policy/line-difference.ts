import type { ObservedHarnessLine } from "@plimsoll/protocol/api";

/** What was observed minus the own line, or minus the line that judges the agents; tokens. */
export function lineDifference({
  line,
  judged_by: judged,
  observed,
}: Pick<ObservedHarnessLine, "line" | "judged_by" | "observed">): number | undefined {
  const expected = line?.tokens ?? judged?.tokens;
  return expected === undefined ? undefined : observed.median - expected;
}

/** The greatest difference first, as a share of the expected line. */
export function byDifference(lines: readonly ObservedHarnessLine[]): ObservedHarnessLine[] {
  const share = (line: ObservedHarnessLine) =>
    Math.abs(lineDifference(line) ?? 0) / (line.line?.tokens ?? line.judged_by?.tokens ?? 1);
  return [...lines].sort(
    (one, other) => share(other) - share(one) || other.observed.falls - one.observed.falls,
  );
}
