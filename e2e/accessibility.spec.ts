import type { Page } from "@playwright/test";
import { expect, listen, test } from "./fixtures.ts";
import { violations } from "./support/axe.ts";
import { seedFleet } from "./support/seed-fleet.ts";

/** Waits until no loading placeholder is left. */
async function settled(page: Page): Promise<void> {
  await expect(page.locator("main .skeleton:not([class*='rounded-full'])")).toHaveCount(0);
}

test.describe("without data", () => {
  test.use({ lines: false });
  test("pages of an empty server pass axe", async ({ page }) => {
    for (const path of ["/", "/sessions", "/setup", "/sessions/00000000-0000-4000-8000-000000000000"]) {
      await test.step(path, async () => {
        await page.goto(path);
        await settled(page);
        expect(await violations(page), path).toEqual([]);
      });
    }
  });
  test.beforeEach(({ expectedErrors }) => {
    // The unknown session.
    expectedErrors.push(/404 \(Not Found\)/);
  });
});

test("pages with data pass axe @phone", async ({ page, send, harness }) => {
  const { title } = await seedFleet(send, { harness });
  for (const path of [`/?harness=${harness}`, `/sessions?harness=${harness}`, "/setup"]) {
    await test.step(path, async () => {
      await page.goto(path);
      await settled(page);
      expect(await violations(page), path).toEqual([]);
    });
  }
  await page.goto(`/sessions?harness=${harness}&q=${title}`);
  await page.locator("[data-row-link]").first().click();
  await expect(page.getByTestId("saw-path")).toBeVisible();
  await settled(page);
  expect(await violations(page), "a session").toEqual([]);
  await page.getByRole("button", { name: "View as table" }).click();
  expect(await violations(page), "a session as a table").toEqual([]);
});

test("dialogs, menus and tooltips pass axe", async ({ page, send, harness }) => {
  await seedFleet(send, { harness });
  await page.goto(`/?harness=${harness}`);
  await settled(page);
  const opened = page.locator("[role=dialog], [role=menu], [role=tooltip]").filter({ visible: true });
  for (const [name, open] of [
    ["the palette", () => page.keyboard.press("Control+k")],
    ["the help", () => page.keyboard.press("?")],
    ["the range", () => page.getByTestId("range").click()],
    ["the harnesses", () => page.getByRole("button", { name: /^Harness:/ }).click()],
    ["a hint", () => page.getByTestId("tile-peak").focus()],
  ] as const) {
    await test.step(name, async () => {
      await open();
      await expect(opened.first()).toBeVisible();
      expect(await violations(page), name).toEqual([]);
      await page.keyboard.press("Escape");
      await expect(opened).toHaveCount(0);
    });
  }
  await page.goto("/setup");
  await page.getByRole("button", { name: "Create key" }).click();
  expect(await violations(page), "creating a key").toEqual([]);
});

test("the login pages pass axe", async ({ browser, server, expectedErrors }) => {
  expectedErrors.push(/401/);
  const context = await browser.newContext({ storageState: undefined });
  const page = await context.newPage();
  const errors = listen(page);
  await page.goto(`${server.url}/login`);
  await expect(page.getByRole("heading", { name: "Open the link from your terminal" })).toBeVisible();
  expect(await violations(page)).toEqual([]);
  await page.goto(`${server.url}/login#wrong`);
  await page.reload();
  await expect(page.getByRole("main")).toContainText("plimsoll login");
  expect(await violations(page)).toEqual([]);
  expect(errors.filter((error) => !/401/.test(error))).toEqual([]);
  await context.close();
});
