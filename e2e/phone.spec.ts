import type { Page } from "@playwright/test";
import { expect, live, test } from "./fixtures.ts";
import { seedFleet } from "./support/seed-fleet.ts";

async function fits(page: Page): Promise<void> {
  await expect
    .poll(() => page.evaluate(() => document.documentElement.scrollWidth - window.innerWidth))
    .toBeLessThanOrEqual(0);
}

test("every page fits 390 px @phone-only", async ({ page, send, harness }) => {
  const { title } = await seedFleet(send, { harness });
  await page.goto(`/?harness=${harness}`);
  await expect(page.getByTestId("fleet-row").first()).toBeVisible();
  await live(page);
  await fits(page);
  // Agents come first.
  const first = (await page.getByTestId("fleet-row").first().boundingBox())!;
  expect(first.y + first.height).toBeLessThan(844);
  for (const tile of [
    "tile-unexplained",
    "tile-current",
    "tile-peak",
    "tile-subticks",
    "tile-warnings",
    "tile-masked",
    "tile-restarts",
  ]) {
    await expect(page.getByTestId(tile)).toBeVisible();
  }
  // The explanation of a tile is shown on focus; a tap leads to its sessions.
  await page.getByTestId("tile-peak").focus();
  await expect(page.getByRole("tooltip")).toContainText("The highest share of its context window");
  await page.getByRole("heading", { level: 1 }).tap();
  await page.getByTestId("range").tap();
  await expect(page.getByRole("button", { name: "Last 7 days" })).toBeVisible();
  await fits(page);
  await page.keyboard.press("Escape");

  const nav = page.getByRole("navigation", { name: "Main" });
  await nav.getByRole("link", { name: "Sessions" }).tap();
  await expect(page.getByTestId("session-row").first()).toBeVisible();
  await fits(page);
  await page.getByRole("searchbox").fill(title);
  await expect(page.getByTestId("session-row")).toHaveCount(1);
  await page.getByTestId("session-row").tap();
  await expect(page.getByTestId("saw-path")).toBeVisible();
  await fits(page);
  for (const name of ["Agents", "Turns", "Window composition"]) {
    const region = page.getByRole("region", { name, exact: true });
    await region.scrollIntoViewIfNeeded();
    await expect(region).toBeInViewport();
  }
  await page.getByRole("button", { name: "View as table" }).tap();
  await fits(page);

  await nav.getByRole("link", { name: "Setup" }).tap();
  await expect(page.getByRole("heading", { name: "Model windows" })).toBeVisible();
  await fits(page);
  await page.getByRole("button", { name: "Create key" }).tap();
  await expect(page.getByRole("dialog")).toBeVisible();
  await fits(page);
  await page.keyboard.press("Escape");

  await page.getByRole("button", { name: "Search", exact: true }).tap();
  await page.getByPlaceholder("Search sessions, pages, ranges").fill(title);
  await page
    .getByRole("option", { name: new RegExp(harness) })
    .first()
    .tap();
  await expect(page.getByTestId("saw-path")).toBeVisible();
  await page
    .getByRole("button", { name: /^Theme:/ })
    .filter({ visible: true })
    .tap();
});

test.describe("without data", () => {
  test.use({ lines: false });
  test("the first-event steps fit 390 px @phone-only", async ({ page }) => {
    await page.goto("/");
    for (const name of ["Claude Code", "Codex", "Another harness", "Import history", "Demo", "curl"]) {
      await page.getByRole("tab", { name, exact: true }).tap();
      await fits(page);
    }
    await page.getByRole("button", { name: "Create key" }).tap();
    await expect(page.getByText("Key created and inserted below")).toBeVisible();
    await fits(page);
    await page.goto("/sessions");
    await expect(page.getByTestId("empty")).toBeVisible();
    await fits(page);
  });
});
