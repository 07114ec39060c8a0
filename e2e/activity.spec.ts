import { expect, test } from "./fixtures.ts";
import { violations } from "./support/axe.ts";
import type { PlimsollServer } from "./support/server.ts";

test.use({ lines: false });

const failToLogIn = (server: PlimsollServer) =>
  fetch(`${server.url}/api/v1/login`, {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify({ token: "wrong" }),
  });

test("Activity shows who changed what, loads more, filters by topic, and counts failed logins of a client", {
  tag: "@own-server",
}, async ({ page, server }) => {
  for (let i = 1; i <= 30; i++) {
    await server.mutate("keys.create", { name: `key ${i}`, scopes: ["ingest"] });
  }
  await page.goto("/setup");
  const list = page.getByTestId("activity");
  const entries = list.getByRole("listitem");
  await expect(entries).toHaveCount(20);
  await expect(entries.first()).toContainText("Key created: key 30");
  await expect(entries.first()).toContainText("ingest, never expires");
  await expect(entries.first()).toContainText("Command line");
  await expect(entries.first().locator("time")).toHaveText(/ago|just now/);
  await expect(entries.first().locator("time")).toHaveAttribute(
    "title",
    /^20\d\d-\d\d-\d\d \d\d:\d\d:\d\d UTC$/,
  );
  await page.getByRole("button", { name: "Show more" }).press("Enter");
  await expect(entries).toHaveCount(31);
  await expect(page.getByRole("button", { name: "Show more" })).toHaveCount(0);
  await expect(entries.last()).toContainText("Signed in");
  await expect(entries.last()).toContainText("Chrome on Linux, 127.0.0.1");

  for (let i = 0; i < 5; i++) await failToLogIn(server);
  await expect(async () => {
    await page.goto("/setup");
    await expect(list).toContainText("Login failed 5 times", { timeout: 500 });
  }).toPass();
  await page.getByRole("button", { name: "Topic: All activity" }).click();
  await page.getByRole("menuitemradio", { name: "Logins" }).click();
  await expect(entries).toHaveCount(2);
  await expect(list).toContainText("127.0.0.1");
  await page.getByRole("button", { name: "Topic: Logins" }).click();
  await page.getByRole("menuitemradio", { name: "Backups" }).click();
  await expect(page.getByText("Nothing about this topic yet.")).toBeVisible();
});

test("Activity names projects once there are several, and hears of changes on the page", async ({
  page,
  server,
}) => {
  await page.goto("/setup");
  await server.plimsoll("project", "create", "billing");
  await page.reload();
  const list = page.getByTestId("activity");
  await expect(list.getByRole("listitem").first()).toContainText("Project created: billing");
  await page.getByRole("button", { name: "Actions for billing" }).click();
  await page.getByRole("menuitem", { name: "Archive" }).click();
  await expect(list.getByRole("listitem").first()).toContainText("Project archived: billing");
  await server.plimsoll("project", "delete", "billing", "--confirm", "billing");
  await page.reload();
  await expect(list.getByRole("listitem").first()).toContainText("Project deleted: billing");
  await expect(list.getByRole("listitem").first()).toContainText("keys revoked: 0");
});

test("Activity says that it could not be loaded, and tries again", async ({
  page,
  server,
  expectedErrors,
}) => {
  expectedErrors.push(/503|Failed to load/);
  await page.goto("/");
  let broken = true;
  await page.route("**/api/trpc/**audit.list**", (route) =>
    broken ? route.fulfill({ status: 503, json: [] }) : route.continue(),
  );
  // A page that is opened within the app loads its numbers itself.
  await server.mutate("keys.create", { name: "ci", scopes: ["ingest"] });
  await page.goto("/setup");
  await page.getByRole("button", { name: "Topic: All activity" }).click();
  await page.getByRole("menuitemradio", { name: "Keys" }).click();
  const section = page.locator("#activity");
  await expect(section.getByRole("alert")).toContainText("Failed to load the activity");
  broken = false;
  await section.getByRole("button", { name: "Try again" }).click();
  await expect(page.getByTestId("activity")).toContainText("Key created: ci");
});

test("Activity passes axe @phone", async ({ page, server }) => {
  await server.plimsoll("project", "create", "A project with quite a long name, as people give them");
  await server.mutate("keys.create", { name: "k".repeat(100), scopes: ["ingest", "read", "admin"] });
  await failToLogIn(server);
  await page.goto("/setup");
  await expect(page.getByTestId("activity")).toContainText("Project created");
  expect(await violations(page), "the list").toEqual([]);
  await page.getByRole("button", { name: /^Topic: / }).click();
  await expect(page.getByRole("menu")).toBeVisible();
  expect(await violations(page), "the filter").toEqual([]);
  await page.keyboard.press("Escape");
  // Nothing is wider than the page.
  const wide = await page.evaluate(() => document.documentElement.scrollWidth - window.innerWidth);
  expect(wide).toBeLessThanOrEqual(0);
});
