import { expect, test } from "./fixtures.ts";
import { EventBuilder } from "./support/event-builder.ts";

test.beforeEach(async ({ send, harness }) => {
  const told = (session: string, title: string, level: number) =>
    new EventBuilder({ harness, session, window: 200_000 })
      .mark("session", { status: "started", kind: "loop", title })
      .turns(level - 1_000, level)
      .take();
  await send([
    ...told("a", "Alpha run", 38_000),
    ...told("b", "Beta run", 24_000),
    ...told("c", "Gamma run", 9_000),
  ]);
});

test("from page to page and row to row without a pointer", async ({ page, harness }) => {
  await page.goto(`/?harness=${harness}`);
  await expect(page.getByTestId("fleet-row")).toHaveCount(3);

  await page.keyboard.press("Tab");
  const skip = page.getByRole("link", { name: "Skip to the content" });
  await expect(skip).toBeFocused();
  await expect(skip).toBeInViewport();
  await page.keyboard.press("Enter");
  await expect(page.getByRole("main")).toBeFocused();
  await page.keyboard.press("Tab");
  // The first stop after it lies in the content and not in the navigation.
  expect(await page.evaluate(() => document.activeElement?.closest("main") !== null)).toBe(true);

  const row = (name: string) => page.getByTestId("fleet-row").getByRole("link", { name });
  await row("Alpha run").focus();
  await page.keyboard.press("j");
  await expect(row("Beta run")).toBeFocused();
  await page.keyboard.press("ArrowDown");
  await expect(row("Gamma run")).toBeFocused();
  await page.keyboard.press("k");
  await expect(row("Beta run")).toBeFocused();
  await page.keyboard.press("Enter");
  await expect(page.getByRole("heading", { level: 1 })).toHaveText("Beta run");
  // Back on the row it was opened from.
  await page.goBack();
  await expect(row("Beta run")).toBeFocused();
  await page.keyboard.press("j");
  await expect(row("Gamma run")).toBeFocused();

  await page.goto(`/?harness=${harness}`);
  await expect(page.getByTestId("fleet-row")).toHaveCount(3);
  await page.keyboard.press("g");
  await page.keyboard.press("s");
  // What was chosen goes along.
  await expect(page).toHaveURL(`/sessions?harness=${encodeURIComponent(harness)}`);
  await page.keyboard.press("/");
  const search = page.getByRole("searchbox", { name: "Search sessions" });
  await expect(search).toBeFocused();
  // Letters go into the field, not to the shortcuts.
  await page.keyboard.type("g fumbled");
  await expect(search).toHaveValue("g fumbled");
  await expect(page).toHaveURL(/\/sessions\?.*q=/);
  await search.fill("");
  await search.blur();

  await page.keyboard.press("j");
  await expect(page.locator("[data-row-link]").first()).toBeFocused();
  await page.keyboard.press("g");
  await page.keyboard.press("f");
  await expect(page.getByRole("heading", { level: 1 })).toHaveText("Fleet");
  await page.keyboard.press("g");
  await page.keyboard.press("u");
  await expect(page.getByRole("heading", { level: 1 })).toHaveText("Setup");
});

test("the palette finds sessions and pages, and the help lists the keys", async ({ page, harness }) => {
  await page.goto(`/?harness=${harness}`);
  await expect(page.getByTestId("fleet-row")).toHaveCount(3);
  await page.keyboard.press("?");
  const help = page.getByRole("dialog", { name: "Keyboard shortcuts" });
  await expect(help).toContainText("Go to Sessions");
  await page.keyboard.press("Escape");
  await expect(help).toHaveCount(0);

  await page.keyboard.press("Control+k");
  const field = page.getByPlaceholder("Search sessions, pages, ranges");
  await expect(field).toBeFocused();
  await page.keyboard.type(harness);
  await expect(page.getByRole("option", { name: /Gamma run/ })).toBeVisible();
  await field.fill("Gamma");
  const found = page.getByRole("option", { name: new RegExp(`Gamma run.*${harness}`) });
  await expect(found).toBeVisible();
  // Other stories may have a Gamma too.
  for (let step = 0; step < 20 && (await found.getAttribute("aria-selected")) !== "true"; step += 1) {
    await page.keyboard.press("ArrowDown");
  }
  await page.keyboard.press("Enter");
  await expect(page.getByRole("heading", { level: 1 })).toHaveText("Gamma run");

  await page.keyboard.press("Control+k");
  await page.keyboard.type("theme dark");
  await page.keyboard.press("Enter");
  await expect(page.locator("html")).toHaveAttribute("data-theme", "dark");
  await page.keyboard.press("Control+k");
  await page.keyboard.type("Setup");
  await expect(page.getByRole("option", { name: /Setup/ })).toHaveAttribute("aria-selected", "true");
  await page.keyboard.press("Enter");
  await expect(page.getByRole("heading", { level: 1 })).toHaveText("Setup");
});

test("what is typed while the palette is still on its way is not lost", async ({ page, harness }) => {
  // Never idle, so that the palette is fetched only when asked for; and slowly.
  await page.addInitScript(() => {
    window.requestIdleCallback = () => 0;
  });
  await page.goto(`/?harness=${harness}`);
  await expect(page.getByTestId("fleet-row")).toHaveCount(3);
  await page.route("**/_next/static/chunks/**", async (route) => {
    await new Promise((resolve) => setTimeout(resolve, 500));
    await route.continue();
  });
  await page.keyboard.press("Control+k");
  await page.keyboard.type("Sesx");
  await page.keyboard.press("Backspace");
  const field = page.getByPlaceholder("Search sessions, pages, ranges");
  await expect(field).toHaveValue("Ses");
  await expect(field).toBeFocused();
  await page.keyboard.type("sions");
  await expect(field).toHaveValue("Sessions");
});
