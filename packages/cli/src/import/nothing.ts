import { SKIP_REASONS, SKIP_TEXT, type SkipCounts } from "@plimsoll/harnesses/recordings";
import { plural } from "../number-format.ts";
import type { ImportSummary } from "./import.ts";
import { type Plan, WHY_TEXT } from "./plan.ts";

/**
 * Explains which of the given paths yielded nothing: each named file that was skipped or has no usable line, and the
 * import as a whole if it found no events. Empty if every path yielded something.
 * @param paths as the user gave them
 */
export function nothingImported(
  paths: readonly string[],
  plan: Plan,
  summary: Pick<ImportSummary, "events" | "unused" | "unreadable">,
): string[] {
  const named = new Set(paths);
  const isReported = summary.events === 0 ? () => true : (location: string) => named.has(location);
  const lines = [
    ...[...plan.unknown, ...summary.unreadable].flatMap(({ path, location, why }) =>
      isReported(location) ? [`${path}: ${WHY_TEXT[why]}`] : [],
    ),
    ...summary.unused.flatMap(({ path, location, skipped }) =>
      isReported(location) ? [`${path}: ${skippedText(skipped)}`] : [],
    ),
  ];
  if (lines.length > 0 || summary.events > 0) return lines;
  return plan.groups.length === 0
    ? paths.map((path) => `${path}: no recordings in this folder`)
    : plan.groups.flatMap(({ format, files }) =>
        files.map(({ path }) => `${path}: no turns in this ${format} file`),
      );
}

function skippedText(skipped: SkipCounts): string {
  const reasons = SKIP_REASONS.flatMap((reason) => {
    const count = skipped[reason];
    return count === undefined ? [] : [`${plural(count, "line")} with ${SKIP_TEXT[reason]}`];
  });
  return reasons.length === 0 ? "no lines" : reasons.join(", ");
}
