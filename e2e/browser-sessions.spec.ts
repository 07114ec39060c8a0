import type { Browser, Page } from "@playwright/test";
import { expect, live, test } from "./fixtures.ts";
import { violations } from "./support/axe.ts";
import type { PlimsollServer } from "./support/server.ts";

const FIREFOX = "Mozilla/5.0 (X11; Linux x86_64; rv:142.0) Gecko/20100101 Firefox/142.0";

/** Another browser that is signed in. */
async function signIn(browser: Browser, server: PlimsollServer, userAgent = FIREFOX): Promise<Page> {
  const context = await browser.newContext({ storageState: undefined, baseURL: server.url, userAgent });
  const page = await context.newPage();
  const { stdout } = await server.plimsoll("login");
  await page.goto(stdout.trim());
  await page.waitForURL(`${server.url}/`);
  return page;
}

const rows = (page: Page) => page.getByTestId("browsers").getByRole("listitem");
const atLogin = (page: Page) =>
  expect(page.getByRole("heading", { name: "Open the link from your terminal" })).toBeVisible();

// The list has the browsers of all stories of this server.
test.beforeEach(async ({ page, server }) => {
  const headers = { origin: server.url };
  const answer = await page.request.post("/api/trpc/browsers.signOutOthers", { data: {}, headers });
  expect(answer.ok(), await answer.text()).toBe(true);
});

test("Setup signs out another browser, whose open page goes to the login page", async ({
  page,
  browser,
  server,
}) => {
  const other = await signIn(browser, server);
  await live(other);
  await page.goto("/setup");
  await expect(rows(page)).toHaveCount(2);
  const own = rows(page).filter({ hasText: "this browser" });
  await expect(own).toHaveCount(1);
  const row = rows(page).filter({ hasText: "Firefox on Linux" });
  await expect(row).toContainText("127.0.0.1 · signed in");
  await expect(row).toContainText("seen in the last hour");
  await row.getByRole("button", { name: "Sign out Firefox on Linux" }).press("Enter");
  await expect(rows(page)).toHaveCount(1);
  await atLogin(other);
  await expect(page.getByTestId("activity")).toContainText("Browser signed out: Firefox on Linux, 127.0.0.1");
  await live(page);
  await other.context().close();
});

test("Setup signs out everywhere else", async ({ page, browser, server }) => {
  const others = [await signIn(browser, server), await signIn(browser, server, "curl/8.5.0")];
  await page.goto("/setup");
  await expect(rows(page)).toHaveCount(3);
  await page.getByRole("button", { name: "Sign out everywhere else" }).click();
  const dialog = page.getByRole("dialog", { name: "Sign out 2 other browsers?" });
  await dialog.getByRole("button", { name: "Sign out" }).click();
  await expect(rows(page)).toHaveCount(1);
  await expect(page.getByText("2 browsers signed out.")).toBeVisible();
  await expect(page.getByRole("button", { name: "Sign out everywhere else" })).toBeDisabled();
  for (const other of others) {
    await atLogin(other);
    await other.context().close();
  }
});

test("a browser signs itself out from the navigation, and from Setup on a phone @phone", async ({
  browser,
  server,
  isMobile,
}) => {
  const page = await signIn(browser, server);
  if (isMobile) await page.setViewportSize({ width: 390, height: 844 });
  await page.goto("/setup");
  const button = page.getByRole("button", {
    name: isMobile ? "Sign out this browser" : "Sign out",
    exact: true,
  });
  await button.press("Enter");
  await atLogin(page);
  expect(await page.context().cookies()).toEqual([]);
  await page.goto("/setup");
  await atLogin(page);
  await page.context().close();
});

test("the list of browsers passes axe @phone", async ({ page, browser, server }) => {
  const other = await signIn(browser, server);
  await page.goto("/setup");
  await expect(rows(page)).toHaveCount(2);
  expect(await violations(page), "the list").toEqual([]);
  await page.getByRole("button", { name: "Sign out everywhere else" }).click();
  await expect(page.getByRole("dialog")).toBeVisible();
  expect(await violations(page), "asking").toEqual([]);
  await other.context().close();
});

test("hostile user agents leave plain text in the list", async ({ page, browser, server }) => {
  const hostile = await signIn(browser, server, '<img src=x onerror="document.title=1">');
  await page.goto("/setup");
  await expect(rows(page).filter({ hasText: "Unknown browser" })).toHaveCount(1);
  await expect(page).toHaveTitle(/Setup/);
  await hostile.context().close();
});
