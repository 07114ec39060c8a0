import type { DoctorCheck } from "@plimsoll/protocol/api";

/** A sample is a check that passed as far as its time allowed. A note is neither good nor bad. */
export type CheckOutcome = "failed" | "note" | "sample" | "passed";

export function checkOutcome({ ok, note, complete }: DoctorCheck): CheckOutcome {
  if (!ok) return "failed";
  if (note) return "note";
  return complete ? "passed" : "sample";
}

/** What the checks of a report say together. */
export function verdictText(checks: readonly DoctorCheck[]): string {
  const failed = checks.filter((check) => checkOutcome(check) === "failed").length;
  if (failed > 0) return failed === 1 ? "1 check failed." : `${failed} checks failed.`;
  if (checks.every((check) => checkOutcome(check) !== "sample")) return "All checks passed.";
  return "No check failed, but some examined only a sample. Run npx plimsoll doctor --full in a terminal to examine everything.";
}
