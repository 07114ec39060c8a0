import { chord, expect, test } from "./fixtures.ts";
import { EventBuilder } from "./support/event-builder.ts";

test.beforeEach(async ({ send, harness }) => {
  const eventsFor = (session: string, title: string, level: number) =>
    new EventBuilder({ harness, session, window: 200_000 })
      .event("session", { status: "started", kind: "loop", title })
      .turns(level - 1_000, level)
      .take();
  await send([
    ...eventsFor("a", "Alpha run", 38_000),
    ...eventsFor("b", "Beta run", 24_000),
    ...eventsFor("c", "Gamma run", 9_000),
  ]);
});

test("pages and rows are reachable by keyboard", async ({ page, server, harness }) => {
  await page.goto(`/?harness=${harness}`);
  await expect(page.getByTestId("fleet-row")).toHaveCount(3);

  await page.keyboard.press("Tab");
  const skip = page.getByRole("link", { name: "Skip to content" });
  await expect(skip).toBeFocused();
  await expect(skip).toBeInViewport();
  await page.keyboard.press("Enter");
  await expect(page.getByRole("main")).toBeFocused();
  await page.keyboard.press("Tab");
  // The next tab stop is in the content, not in the navigation.
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
  // Going back focuses the row that was opened.
  await page.goBack();
  await expect(row("Beta run")).toBeFocused();
  await page.keyboard.press("j");
  await expect(row("Gamma run")).toBeFocused();

  await page.goto(`/?harness=${harness}`);
  await expect(page.getByTestId("fleet-row")).toHaveCount(3);
  await chord(page, "g", "s");
  // The selected harness stays in the URL.
  await expect(page).toHaveURL(server.inProject(`/sessions?harness=${encodeURIComponent(harness)}`));
  await page.keyboard.press("/");
  const search = page.getByRole("searchbox", { name: "Search sessions" });
  await expect(search).toBeFocused();
  // Typing in the field triggers no shortcuts.
  await page.keyboard.type("g fumbled");
  await expect(search).toHaveValue("g fumbled");
  await expect(page).toHaveURL(/\/sessions\?.*q=/);
  await search.fill("");
  await search.blur();
  await expect(page).not.toHaveURL(/q=/);

  await expect(page.locator("[data-row-link]")).toHaveCount(3);
  await page.keyboard.press("j");
  await expect(page.locator("[data-row-link]").first()).toBeFocused();
  await chord(page, "g", "f");
  await expect(page.getByRole("heading", { level: 1 })).toHaveText("Fleet");
  await chord(page, "g", "u");
  await expect(page.getByRole("heading", { level: 1 })).toHaveText("Setup");
});

test("the palette finds sessions and pages, and the help lists shortcuts", async ({ page, harness }) => {
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
  const found = page.getByRole("option", { name: new RegExp(`Gamma run.*${harness}`) });
  await expect(found).toBeVisible();
  await field.fill("Gamma");
  await expect(found).toBeVisible();
  // Other tests may have a Gamma too.
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

test("text typed while the palette loads is kept", async ({ page, harness }) => {
  // No idle callback and chunks that wait, so that the palette loads late.
  await page.addInitScript(() => {
    window.requestIdleCallback = () => 0;
  });
  await page.goto(`/?harness=${harness}`);
  await expect(page.getByTestId("fleet-row")).toHaveCount(3);
  let release = () => {};
  const released = new Promise<void>((resolve) => {
    release = resolve;
  });
  await page.route("**/_next/static/chunks/**", async (route) => {
    await released;
    await route.continue();
  });
  await page.keyboard.press("Control+k");
  await page.keyboard.type("Sesx");
  await page.keyboard.press("Backspace");
  release();
  const field = page.getByPlaceholder("Search sessions, pages, ranges");
  await expect(field).toHaveValue("Ses");
  await expect(field).toBeFocused();
  await page.keyboard.type("sions");
  await expect(field).toHaveValue("Sessions");
});

test("a dialog returns the focus to what opened it", async ({ page, harness }) => {
  const dialog = page.getByRole("dialog");
  await page.goto("/setup");
  const create = page.getByRole("button", { name: "Create key" });
  await create.focus();
  await page.keyboard.press("Enter");
  await expect(dialog).toBeVisible();
  await page.keyboard.press("Escape");
  await expect(dialog).toHaveCount(0);
  await expect(create).toBeFocused();

  // Its menu is gone by then.
  await page.goto(`/sessions?harness=${harness}`);
  await expect(page.locator("[data-row-link]")).toHaveCount(3);
  const views = page.getByRole("button", { name: "Views", exact: true });
  await views.focus();
  await page.keyboard.press("Enter");
  await page.getByRole("menuitem", { name: /Save/ }).first().press("Enter");
  await expect(dialog.getByRole("textbox")).toBeFocused();
  await page.keyboard.press("Escape");
  await expect(dialog).toHaveCount(0);
  await expect(views).toBeFocused();

  const row = page.locator("[data-row-link]").nth(1);
  await row.focus();
  await page.keyboard.press("Control+k");
  await expect(page.getByPlaceholder("Search sessions, pages, ranges")).toBeFocused();
  await page.keyboard.press("Escape");
  await expect(row).toBeFocused();
  await page.keyboard.press("j");
  await expect(page.locator("[data-row-link]").nth(2)).toBeFocused();

  // Nothing had the focus, so nothing gets it.
  await page.locator("[data-row-link]").nth(2).blur();
  await page.keyboard.press("?");
  await expect(dialog).toContainText("Keyboard shortcuts");
  await page.keyboard.press("Escape");
  await expect(dialog).toHaveCount(0);
  expect(await page.evaluate(() => document.activeElement === document.body)).toBe(true);
});

test("t goes to a time, on Fleet and in a session", async ({ page, send, harness }) => {
  const start = new Date(Date.now() - 3 * 3_600_000);
  start.setUTCSeconds(0, 0);
  const at = (minutes: number) => new Date(start.getTime() + minutes * 60_000).toISOString();
  const agent = new EventBuilder({ harness, session: "long", window: 200_000, start: start.getTime() });
  for (const tokens of [10_000, 20_000, 30_000, 40_000]) agent.turn(tokens).pause(20 * 60_000);
  await send(agent.take());

  await page.goto(`/?harness=${harness}`);
  await expect(page.getByTestId("fleet-row").first()).toBeVisible();
  await page.keyboard.press("t");
  const dialog = page.getByRole("dialog", { name: "Go to a time" });
  await expect(dialog.getByLabel("In your time zone")).toBeFocused();
  await dialog.getByLabel("In your time zone").fill(at(25).slice(0, 16));
  await dialog.getByRole("button", { name: "Go" }).click();
  await expect(dialog).toBeHidden();
  await expect(page).toHaveURL(
    (url) => url.searchParams.get("range")?.startsWith(at(-5).slice(0, 16)) === true,
  );

  await page.goto(`/sessions?harness=${harness}`);
  await page.getByTestId("session-row").filter({ hasText: "long" }).getByRole("link").click();
  await expect(page.getByTestId("saw-path")).toBeVisible();
  await page.keyboard.press("t");
  await dialog.getByLabel("In your time zone").fill(at(45).slice(0, 16));
  await page.keyboard.press("Enter");
  // The third turn had begun, the fourth had not.
  const marked = page.getByRole("region", { name: "Turn log" }).locator("[aria-current=true]");
  await expect(marked).toContainText("30,000");
  await expect(page).toHaveURL(/[?&]turn=/);
  await expect(page).not.toHaveURL(/[?&]at=/);
});
