import type { Page } from "@playwright/test";
import { chord, expect, test } from "./fixtures.ts";
import { EventBuilder } from "./support/event-builder.ts";

const CHUNK = /\/_next\/static\/chunks\/.*\.js/;

test.beforeEach(async ({ send, harness }) => {
  await send(new EventBuilder({ harness, session: "a", window: 200_000 }).turns(8_000, 9_000).take());
});

/** Opens Sessions, which shows no chart, and waits until the page asks for no more scripts. */
async function openSessions(page: Page, harness: string): Promise<void> {
  await page.goto(`/sessions?harness=${harness}`);
  await expect(page.getByTestId("session-row")).toHaveCount(1);
  await page.waitForLoadState("networkidle").catch(() => {});
}

/** Waits until the search and the help are prepared, which need all that menus and dialogs share. */
async function idle(page: Page): Promise<void> {
  await expect(page.locator("[role=dialog]")).toHaveCount(3);
}

/** What the page loads from now on holds these texts of its menus and dialogs. */
function loadsParts(page: Page, ...texts: string[]): () => Promise<void> {
  const missing = new Set(texts);
  page.on("response", async (response) => {
    if (!CHUNK.test(response.url())) return;
    const script = await response.text().catch(() => "");
    for (const text of missing) if (script.includes(text)) missing.delete(text);
  });
  return () => expect.poll(() => [...missing], "parts that are not loaded").toEqual([]);
}

/** Holds back scripts of the page. @returns how many it held, and what lets them go */
async function holdScripts(page: Page) {
  let release = () => {};
  const released = new Promise<void>((resolve) => {
    release = resolve;
  });
  let held = 0;
  await page.route(CHUNK, async (route) => {
    held += 1;
    await released;
    await route.continue();
  });
  return { held: () => held, release: () => release() };
}

/** A page that is always busy loads its menus with the reader's first action. */
const keepBusy = (page: Page) =>
  page.addInitScript(() => {
    window.requestIdleCallback = () => 0;
  });

test("an idle page has its menus before the reader acts", async ({ page, harness }) => {
  await openSessions(page, harness);
  await idle(page);
  const scripts = await holdScripts(page);
  const views = page.getByRole("button", { name: "Views", exact: true });
  await views.evaluate((button: HTMLElement) => button.focus());
  await page.keyboard.press("Enter");
  await expect(page.getByRole("menu")).toBeVisible();
  scripts.release();
});

test("a busy page loads menus with the reader's first action, which is not lost", async ({
  page,
  harness,
}) => {
  await keepBusy(page);
  await openSessions(page, harness);
  const scripts = await holdScripts(page);
  const views = page.getByRole("button", { name: "Views", exact: true });
  // Through the DOM, so that no pointer event comes before the key.
  await views.evaluate((button: HTMLElement) => button.focus());
  await page.keyboard.press("Enter");
  await expect(views).toHaveAttribute("aria-expanded", "true");
  await expect.poll(scripts.held).toBeGreaterThan(0);
  scripts.release();
  await expect(page.getByRole("menu")).toBeVisible();
  await page.keyboard.press("Escape");
  await expect(page.getByRole("menu")).toHaveCount(0);
  await expect(views).toBeFocused();
});

test("a menu that cannot be loaded stays closed, and the page goes on", async ({
  page,
  harness,
  expectedErrors,
}) => {
  expectedErrors.push(/net::ERR_FAILED/);
  await keepBusy(page);
  await openSessions(page, harness);
  await page.route(CHUNK, (route) => route.abort());
  const views = page.getByRole("button", { name: "Views", exact: true });
  const failed = page.waitForEvent("requestfailed", (request) => CHUNK.test(request.url()));
  await views.click();
  await failed;
  await expect(views).toHaveAttribute("aria-expanded", "false");
  await expect(page.getByTestId("session-row")).toBeVisible();
});

test("an idle page opens its menus and dialogs while the server is down", async ({ page, harness }) => {
  const loaded = loadsParts(page, "Filter by", "Sort by", "Save view", "Delete the selected sessions");
  await openSessions(page, harness);
  await idle(page);
  await loaded();
  await page.route(CHUNK, (route) => route.abort());
  for (const name of ["Filter", "Display"]) {
    await page.getByRole("button", { name, exact: true }).click();
    const panel = page.getByRole("dialog");
    await expect(panel.getByRole(name === "Filter" ? "option" : "button").first()).toBeVisible();
    await page.keyboard.press("Escape");
    await expect(panel).toBeHidden();
  }
  await page.getByRole("button", { name: "Views", exact: true }).click();
  await page.getByRole("menuitem", { name: /Save/ }).first().click();
  await expect(page.getByRole("dialog").getByRole("textbox")).toBeVisible();
  await page.keyboard.press("Escape");
  await page
    .getByRole("checkbox", { name: /^Select / })
    .first()
    .check();
  await expect(page.getByRole("button", { name: "Delete" })).toBeVisible();
  await page.getByRole("heading", { name: "Sessions" }).click();
  await page.keyboard.press("?");
  await expect(page.getByRole("dialog")).toContainText("Keyboard");
});

/** Lets files fail that contain a text, until the returned function is called. */
async function takeAway(page: Page, text: string): Promise<() => void> {
  let isDown = true;
  await page.route(CHUNK, async (route) => {
    const response = await route.fetch();
    const body = await response.text();
    if (isDown && body.includes(text)) await route.abort();
    else await route.fulfill({ response, body });
  });
  return () => {
    isDown = false;
  };
}

test("a dialog that could not be loaded says so, and opens once the server is back", async ({
  page,
  harness,
  expectedErrors,
}) => {
  expectedErrors.push(/net::ERR_|Failed to load/);
  await keepBusy(page);
  const bringBack = await takeAway(page, "Open the focused row");
  await openSessions(page, harness);
  await page.keyboard.press("?");
  await expect(page.getByText("This part of the page was not loaded")).toBeVisible();
  await expect(page.getByTestId("session-row")).toHaveCount(1);
  bringBack();
  await page.keyboard.press("?");
  await expect(page.getByRole("dialog")).toContainText("Go to Fleet");
});

test("a search whose overlays could not be loaded says so, and opens once the server is back", async ({
  page,
  harness,
  expectedErrors,
}) => {
  expectedErrors.push(/net::ERR_|Failed to load/);
  await keepBusy(page);
  const bringBack = await takeAway(page, "cmdk-input");
  await openSessions(page, harness);
  await page.keyboard.press("Control+k");
  await expect(page.getByText("This part of the page was not loaded")).toBeVisible();
  await expect(page.getByTestId("session-row")).toHaveCount(1);
  bringBack();
  await page.keyboard.press("Control+k");
  await page.keyboard.type("sess");
  await expect(page.getByRole("option", { name: /Sessions/ })).toBeVisible();
});

test("the search and the help are prepared, closed until they are opened, and new each time", async ({
  page,
  harness,
}) => {
  await openSessions(page, harness);
  await idle(page);
  const dialog = page.getByRole("dialog");
  const isLocked = () =>
    page.evaluate(() => getComputedStyle(document.documentElement).overflowY === "hidden");
  const hiddenParts = () => page.locator("body > [aria-hidden=true]:not(script)").count();
  await expect(page.locator("[role=dialog]")).toHaveCount(3);
  await expect(dialog).toHaveCount(0);
  expect(await isLocked()).toBe(false);
  const before = await hiddenParts();
  for (let step = 0; step < 40; step++) {
    await page.keyboard.press("Tab");
    expect(await page.evaluate(() => document.activeElement?.closest("[role=dialog]") !== null)).toBe(false);
  }

  const search = page.getByRole("button", { name: /^Search/ });
  const field = page.getByPlaceholder("Search sessions, pages, ranges");
  for (const opening of [1, 2, 3]) {
    await search.focus();
    await page.keyboard.press("Enter");
    await expect(field).toBeFocused();
    await expect(field, `opening ${opening}`).toHaveValue("");
    expect(await isLocked()).toBe(true);
    await page.keyboard.type("Setup");
    await expect(page.getByRole("option", { name: /Setup/ })).toHaveAttribute("aria-selected", "true");
    // The focus stays in the search.
    await page.keyboard.press("Tab");
    expect(await page.evaluate(() => document.activeElement?.closest("[role=dialog]") !== null)).toBe(true);
    if (opening === 2) await page.mouse.click(5, 5);
    else await page.keyboard.press("Escape");
    await expect(dialog).toHaveCount(0);
    expect(await isLocked()).toBe(false);
    expect(await hiddenParts()).toBe(before);
    await expect(search).toBeFocused();
  }

  await page.keyboard.press("?");
  await expect(dialog).toContainText("Keyboard shortcuts");
  // Neither the keys of the page nor those of the search work under the help.
  await chord(page, "g", "f");
  await expect(dialog).toHaveCount(1);
  await page.getByRole("button", { name: "Close" }).click();
  await expect(dialog).toHaveCount(0);
  await expect(page.getByTestId("session-row")).toBeVisible();
  await chord(page, "g", "f");
  await expect(page.getByRole("heading", { level: 1 })).toHaveText("Fleet");
});
