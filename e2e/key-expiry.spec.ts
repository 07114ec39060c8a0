import type { Page } from "@playwright/test";
import type { CreatedKey } from "@plimsoll/protocol/api";
import { expect, test } from "./fixtures.ts";
import { violations } from "./support/axe.ts";

const DAY = 86_400_000;
const inMs = (ms: number) => new Date(Date.now() + ms).toISOString();
const row = (page: Page, text: string) =>
  page.getByTestId("keys").getByRole("listitem").filter({ hasText: text });

const send = (url: string, key: string) =>
  fetch(`${url}/api/v1/events`, {
    method: "POST",
    headers: { authorization: `Bearer ${key}`, "content-type": "application/json" },
    body: "[]",
  });

async function act(page: Page, name: string, what: "Rotate" | "Revoke"): Promise<void> {
  await page
    .getByRole("button", { name: `Actions for ${name}` })
    .first()
    .focus();
  await page.keyboard.press("Enter");
  const item = page.getByRole("menuitem", { name: what });
  await expect(item).toBeVisible();
  await item.focus();
  await page.keyboard.press("Enter");
  await expect(page.getByRole("dialog")).toBeVisible();
}

test("Setup creates a key that expires, by keyboard", async ({ page }) => {
  await page.goto("/setup");
  await page.getByRole("button", { name: "Create key" }).focus();
  await page.keyboard.press("Enter");
  const dialog = page.getByRole("dialog");
  await dialog.getByLabel("Name").fill("build machine");
  await dialog.getByRole("radio", { name: "Never" }).focus();
  await page.keyboard.press("ArrowDown");
  await page.keyboard.press("ArrowDown");
  await expect(dialog.getByRole("radio", { name: "In 90 days" })).toBeChecked();
  await dialog.getByRole("button", { name: "Create", exact: true }).press("Enter");
  await expect(dialog.getByTestId("secret")).toContainText("plim_");
  await dialog.getByRole("button", { name: "Done" }).click();
  await expect(row(page, "build machine")).toContainText("expires in 90 days");
  await expect(page.getByTestId("activity")).toContainText("Key created: build machine");
});

test("Setup takes a date in the future only", async ({ page }) => {
  await page.goto("/setup");
  await page.getByRole("button", { name: "Create key" }).click();
  const dialog = page.getByRole("dialog");
  await dialog.getByLabel("Name").fill("until a date");
  await dialog.getByRole("radio", { name: "On a date" }).check();
  const create = dialog.getByRole("button", { name: "Create", exact: true });
  await dialog.getByLabel("Expiry date").fill("2020-01-31");
  await expect(dialog.getByRole("alert")).toContainText("Choose a date in the future");
  await expect(create).toBeDisabled();
  await dialog.getByLabel("Expiry date").fill(inMs(20 * DAY).slice(0, 10));
  await expect(dialog.getByRole("alert")).toHaveCount(0);
  await create.click();
  await dialog.getByRole("button", { name: "Done" }).click();
  await expect(row(page, "until a date")).toContainText(/expires in (19|20) days/);
});

test("the list warns a week before a key expires, and tells when it did", async ({ page, server }) => {
  const make = (name: string, ms: number) =>
    server.mutate<CreatedKey>("keys.create", { name, scopes: ["ingest"], expires_at: inMs(ms) });
  const over = await make("over", 1_000);
  await make("soon", 5.2 * DAY);
  await make("later", 20.2 * DAY);
  await expect.poll(async () => (await send(server.url, over.secret)).status).toBe(401);
  const refused = (await (await send(server.url, over.secret)).json()) as { error: { message: string } };
  expect(refused.error.message).toMatch(/^This key expired on \d+ \w+ \d{4}\. Make another/);
  await page.goto("/setup");
  await expect(row(page, "soon")).toContainText("expires in 5 days");
  await expect(row(page, "soon").locator("svg.lucide-triangle-alert")).toBeVisible();
  await expect(row(page, "later")).toContainText("expires in 20 days");
  await expect(row(page, "later").locator("svg.lucide-triangle-alert")).toHaveCount(0);
  await expect(row(page, "over")).toContainText("expired");
  await expect(page.getByRole("button", { name: "Actions for over" })).toHaveCount(0);
});

test("Setup rotates a key: both work, then only the successor does", async ({ page, server }) => {
  const old = await server.mutate<CreatedKey>("keys.create", { name: "ci", scopes: ["ingest"] });
  await page.goto("/setup");
  await act(page, "ci", "Rotate");
  const dialog = page.getByRole("dialog");
  await expect(dialog.getByRole("radio", { name: "24 hours" })).toBeChecked();
  await dialog.getByRole("button", { name: "Rotate" }).click();
  const secret = ((await dialog.getByTestId("secret").textContent()) ?? "").match(/plim_\w+/)![0];
  await expect(dialog).toContainText(`The old key ${old.prefix}… ends in 24 hours`);
  await dialog.getByRole("button", { name: "Done" }).click();
  const prefix = secret.slice(0, old.prefix.length);
  await expect(row(page, `replaced by ${prefix}`)).toContainText("ends in 24 hours");
  await expect(row(page, `replaces ${old.prefix}`)).toContainText("ci");
  for (const key of [old.secret, secret]) expect((await send(server.url, key)).status).toBe(200);

  // The replaced key comes second, and can only be revoked.
  await row(page, `replaced by ${prefix}`).getByRole("button", { name: "Actions for ci" }).click();
  await expect(page.getByRole("menuitem", { name: "Rotate" })).toHaveCount(0);
  await page.keyboard.press("Escape");
  await row(page, `replaces ${old.prefix}`).getByRole("button", { name: "Actions for ci" }).click();
  await page.getByRole("menuitem", { name: "Rotate" }).click();
  await dialog.getByRole("radio", { name: "Not at all" }).check();
  await dialog.getByRole("button", { name: "Rotate" }).click();
  await expect(dialog).toContainText("no longer works");
  expect((await send(server.url, secret)).status).toBe(401);
  expect((await send(server.url, old.secret)).status).toBe(200);
});

test("the list of keys and its dialogs pass axe @phone", async ({ page, server }) => {
  for (const [name, ms] of [
    ["a key that expires soon", 3 * DAY],
    ["a key with quite a long name, as people give them to tell machines apart", 90 * DAY],
    ["over", 500],
  ] as const) {
    await server.mutate("keys.create", { name, scopes: ["ingest", "read"], expires_at: inMs(ms) });
  }
  const { id } = await server.mutate<CreatedKey>("keys.create", { name: "ci", scopes: ["ingest"] });
  await server.mutate("keys.rotate", { id });
  await page.goto("/setup");
  await expect(page.locator("main .skeleton:not([class*='rounded-full'])")).toHaveCount(0);
  expect(await violations(page), "the list").toEqual([]);
  await page.getByRole("button", { name: "Create key" }).click();
  await page.getByRole("radio", { name: "On a date" }).check();
  expect(await violations(page), "creating").toEqual([]);
  await page.keyboard.press("Escape");
  await page.getByRole("button", { name: "Actions for a key that expires soon" }).click();
  expect(await violations(page), "the actions").toEqual([]);
  await page.getByRole("menuitem", { name: "Rotate" }).click();
  await expect(page.getByRole("dialog")).toBeVisible();
  expect(await violations(page), "rotating").toEqual([]);
});
