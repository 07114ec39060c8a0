import type { Page } from "@playwright/test";
import { expect, test } from "./fixtures.ts";
import { seedCrowd } from "./support/fleet.ts";

const AGENTS = 60;

async function fits(page: Page): Promise<void> {
  await expect
    .poll(() => page.evaluate(() => document.documentElement.scrollWidth - window.innerWidth))
    .toBeLessThanOrEqual(0);
}

test("sixty agents with names longer than any column still fit and stand in order @phone", async ({
  page,
  send,
  harness,
}) => {
  await seedCrowd(send, harness, AGENTS);
  await page.goto(`/?harness=${harness}`);
  await expect(page.getByTestId("fleet-row")).toHaveCount(AGENTS);
  await fits(page);
  const loads = await page
    .getByTestId("load")
    .evaluateAll((cells) => cells.map((cell) => Number.parseInt(cell.textContent ?? "", 10)));
  expect(loads).toEqual([...loads].sort((a, b) => b - a));

  await page.goto(`/sessions?harness=${harness}&sort=load`);
  await expect(page.getByTestId("session-count")).toHaveText(`${AGENTS} shown`);
  await fits(page);
  await page.goto(`/sessions?harness=${harness}&q=reconciliation`);
  await page.locator("[data-row-link]").first().click();
  await expect(page.getByRole("heading", { level: 1 })).toContainText("Investigate why");
  await expect(page.getByTestId("saw-path")).toBeVisible();
  await fits(page);
});
