import { expect, test } from "./fixtures.ts";
import { violations } from "./support/axe.ts";
import { changeAnswer } from "./support/change-answer.ts";

test.use({ lines: false });

test("Setup tells the doctor's notes and samples from passed checks @phone", async ({ page }) => {
  await page.goto("/setup");
  const doctor = page.getByTestId("doctor");
  await page.getByRole("button", { name: "Run doctor" }).click();
  await expect(doctor).toContainText("All checks passed.");
  await expect(doctor.getByRole("listitem").filter({ hasText: "Upkeep" })).toHaveAttribute(
    "data-outcome",
    "note",
  );
  await expect(doctor.getByRole("heading", { name: "Notes" })).toBeVisible();
  expect(await violations(page), "all passed").toEqual([]);

  await changeAnswer(page, "doctor", (report) => {
    const [first, ...rest] = report.checks as object[];
    const last = rest.pop();
    report.checks = [
      { ...first, ok: false, message: "fsync is off. Set it to on." },
      ...rest,
      { ...last, complete: false, message: "400 of 571 agents computed again, no difference." },
    ];
  });
  await page.getByRole("button", { name: "Run doctor" }).click();
  await expect(doctor).toContainText("1 check failed.");
  await expect(doctor.getByRole("img", { name: "failed" })).toHaveCount(1);
  await expect(doctor.getByRole("img", { name: "passed for a sample" })).toHaveCount(1);
  await expect(doctor.getByRole("img", { name: "note" })).toHaveCount(3);
  // The notes come last.
  await expect(doctor.getByRole("listitem").last()).toHaveAttribute("data-outcome", "note");
  expect(await violations(page), "one failed").toEqual([]);
});
