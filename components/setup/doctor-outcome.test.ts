import type { DoctorCheck } from "@plimsoll/protocol/api";
import { expect, test } from "vitest";
import { checkOutcome, verdictText } from "./doctor-outcome.ts";

function check(fields: Partial<DoctorCheck>): DoctorCheck {
  return {
    name: "a check",
    ok: true,
    note: false,
    message: "",
    examined: 1,
    of: 1,
    complete: true,
    ...fields,
  };
}
const passed = check({});
const failed = check({ ok: false });
const note = check({ note: true });
const sample = check({ complete: false });

test("notes, samples and passes have different outcomes, and a failed check is always a failure", () => {
  expect([passed, failed, note, sample].map(checkOutcome)).toEqual(["passed", "failed", "note", "sample"]);
  expect(checkOutcome(check({ ok: false, note: true, complete: false }))).toBe("failed");
});

test.each([
  [[passed, note], "All checks passed."],
  [[passed, failed, sample], "1 check failed."],
  [[failed, failed], "2 checks failed."],
  [[passed, sample], /^No check failed, but some examined only a sample\./],
])("the verdict counts failures and mentions samples", (checks, text) => {
  expect(verdictText(checks)).toMatch(text);
});
